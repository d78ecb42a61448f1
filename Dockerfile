# StitchCUDA with PyTorch and the CUDA toolkit: see docs/quickstart.md.
#   docker build -t stitchcuda .
#   docker run --rm --gpus all -v "$PWD:/work" stitchcuda optimize model.py -o program/
ARG CUDA=13.0.1
ARG UBUNTU=24.04

FROM nvidia/cuda:${CUDA}-cudnn-devel-ubuntu${UBUNTU} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       g++ cmake ninja-build nlohmann-json3-dev libcli11-dev libfmt-dev libopenblas-dev libsqlite3-dev zlib1g-dev \
       libcpp-httplib-dev libssl-dev libtomlplusplus-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/stitchcuda
COPY . .
RUN cmake --preset release -DSTITCHCUDA_BENCHMARKS=OFF && cmake --build --preset release

# The toolkit stays: generated programs are compiled by nvcc when they are verified.
FROM nvidia/cuda:${CUDA}-cudnn-devel-ubuntu${UBUNTU}
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       g++ cmake ninja-build libfmt-dev libopenblas0 libopenblas-dev libsqlite3-0 zlib1g libcpp-httplib-dev libssl3 \
       libtomlplusplus-dev bubblewrap python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
ARG TORCH=torch
# hadolint ignore=DL3013
RUN python3 -m venv /opt/torch \
    && /opt/torch/bin/pip install --no-cache-dir ${TORCH} torchvision transformers einops numpy
COPY --from=build /opt/stitchcuda /opt/stitchcuda
ENV STITCHCUDA_PYTHON=/opt/torch/bin/python \
    STITCHCUDA_HOME=/opt/stitchcuda \
    PATH=/opt/stitchcuda/build/release:$PATH
RUN useradd --create-home --uid 1001 stitch && mkdir /work && chown stitch /work
USER 1001
WORKDIR /work
ENTRYPOINT ["stitchcuda"]
CMD ["doctor"]
