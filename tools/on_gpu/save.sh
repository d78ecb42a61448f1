#!/usr/bin/env bash
# save.sh FOLDER FILE.tgz: what a run left in FOLDER, without what was built and without large tensors. For calling now and then while
# something runs: FILE is always whole.
tar -C "$1" --exclude='*.o' --exclude='*.so' --exclude='*.safetensors' --exclude='*.bin' --exclude=build -czf "$2.draft" . 2>/dev/null
mv "$2.draft" "$2"
