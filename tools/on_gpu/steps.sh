#!/usr/bin/env bash
# steps.sh STEP: a step of release.py, in the checkout's root. release.py sets OUT, TOOL, DEVICE, ORDER, LIST, FLAGS, LEFT and SITE, and
# has a table of how long each takes. JOBS, JUDGES and TIME_LIMIT change what runs at once.

results="python3 tools/on_gpu/results.py"

build() { [ -x $TOOL ] || tools/on_gpu/build.sh stitchcuda-mutants; }

# Without this a first call once cost seven minutes of a GPU: an honest candidate is judged, a small model optimised.
try() {
  $TOOL verify src/verify/testdata/candidates/honest.cu --task src/verify/testdata/row_center/graph --device $DEVICE --baselines none &&
    $TOOL optimize examples/mlp.py -o $OUT/mlp --device $DEVICE --quick --no-tune --budget 1 --no-timing --force --store none
}

kernelbench() {
  $results known >$OUT/known.jsonl &&
    $TOOL bench $($results tasks $ORDER) -o $OUT/kernelbench --jobs ${JOBS:-14} --known-baselines $OUT/known.jsonl $FLAGS
  $results show $OUT/kernelbench/tasks.jsonl
}

models() {
  python3 tools/models/make_tasks.py -o $OUT/tasks >/dev/null && $results known models >$OUT/known_models.jsonl &&
    PYTHONPATH=$SITE $TOOL bench $($results models $LIST --tasks $OUT/tasks) -o $OUT/models --eval --jobs ${JOBS:-12} \
      --known-baselines $OUT/known_models.jsonl $FLAGS
  $results show $OUT/models/tasks.jsonl
}

# Judged as soon as a program is there. Programs that were made elsewhere (evaluator_programs.py) take 62 s: README.md.
evaluator() {
  $TOOL bench $($results tasks $ORDER) -o $OUT/evaluator --jobs ${JOBS:-11} --compat kernelbench --no-tune --quick --no-timing --budget 1 \
    >$OUT/evaluator_bench.log 2>&1 &
  python3 tools/kernelbench_evaluator.py .kernelbench $OUT/evaluator -o $OUT/evaluator.jsonl --jobs ${JUDGES:-4} --draw-on-gpu \
    --time-limit ${TIME_LIMIT:-60} --ways reversed,search,channels_last --follow $!
}

candidates() {
  { [ -x build/release/verify_test ] || { cmake -DSTITCHCUDA_TESTS=ON build/release && ninja -C build/release verify_test; }; } &&
    STITCHCUDA_TEST_DEVICE=$DEVICE STITCHCUDA_CHEATS=all build/release/verify_test --gtest_filter='*Candidates*'
}

mutants() {
  local tasks=src/verify/testdata/tasks
  build/release/stitchcuda-mutants $tasks/{attention,batch_norm,classifier,conv_norm,cross_entropy,layer_norm,lstm,masked_attention}/graph \
    $tasks/{norm_gelu,pooling,product,recurrence,softmax,scatter,unit_rows}/graph -o $OUT/mutants --each 14 --most 210 --device $DEVICE \
    --variants optimised --jobs 16 --seconds $LEFT
}

bottlenecks() { ninja -C build/release known-bottlenecks && build/release/known-bottlenecks --out $OUT/known_bottlenecks.json; }

calls() { python3 tools/call_overhead.py --compile --jobs 12; }

"$1"
