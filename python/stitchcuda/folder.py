"""A program's folder: its manifest, its library, and its results, which are in stitchcuda.json if this package saved it, and in
verdict.json and ledger.json if the command line wrote it."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile

import torch

from . import tool
from .errors import StitchError

RECORD = "stitchcuda.json"


class Folder:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.manifest = self.read("manifest.json")
        self.is_saved = os.path.exists(self.file(RECORD))
        self.record = self.read(RECORD) if self.is_saved else self.record_of_tool()

    def record_of_tool(self):
        written = {key: self.read(f"{key}.json") for key in ("verdict", "ledger") if os.path.exists(self.file(f"{key}.json"))}
        return {
            "device": "cuda" if torch.cuda.is_available() else "emulated",
            "architecture": self.manifest.get("architecture", ""),
            "numerics": self.manifest.get("class", "default"),
            "regions": self.manifest.get("regions", []),
            **written,
        }

    def read(self, name):
        try:
            with open(os.path.join(self.path, name), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise StitchError(
                f"{self.path} is no program of stitchcuda's: {name} {'is damaged' if isinstance(error, ValueError) else 'is missing'}",
                "give a folder that save() or `stitchcuda optimize` wrote",
            ) from error

    def file(self, *names):
        return os.path.join(self.path, *names)

    @property
    def name(self):
        return self.manifest["name"]

    def library(self, device):
        """The compiled program for a torch.device; compiled now where it isn't there yet."""
        if device.type != "cuda":
            return self.compiled("emulated.so", self.compile_emulated)
        major, minor = torch.cuda.get_device_capability(device)
        architecture = f"{major}{minor}{'a' if (major, minor) == (9, 0) else ''}"
        needs = (self.manifest.get("needs") or "").removeprefix("sm_")
        fits = architecture == needs if needs.endswith("a") else 10 * major + minor >= int(needs or 0)
        if not fits:
            made_for = self.record.get("gpu") or f"sm_{needs}"
            raise StitchError(
                f"{self.name} was made for {made_for} and needs sm_{needs}; this GPU is {torch.cuda.get_device_name(device)}, sm_{architecture}",
                "optimize the model on this machine",
            )
        if self.record.get("device") == "cuda" and self.record.get("architecture") == f"sm_{architecture}":
            name = "libprogram.so"
        else:
            name = f"sm_{architecture}.so"
        return self.compiled(name, lambda out: self.compile_cuda(out, architecture))

    def compiled(self, name, compile):
        library = self.file("build", name)
        if not self.is_fresh(library):
            self.check_sources()
            library = os.path.join(self.place_for_libraries(), name)
            os.makedirs(os.path.dirname(library), exist_ok=True)
            with open(os.path.join(os.path.dirname(library), ".lock"), "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be doing the same
                if not os.path.exists(library):
                    compile(library)
        return library

    def is_fresh(self, library):
        """Sources beside a library that this package compiled don't change; others may have been edited, or written anew."""
        return os.path.exists(library) and (self.is_saved or os.path.getmtime(library) >= max(map(os.path.getmtime, self.sources())))

    def place_for_libraries(self):
        """In the cache for a folder of the command line's, which tells its files from the user's and must stay as it is."""
        if self.is_saved:
            return self.file("build")
        sum = hashlib.sha256(self.path.encode())
        for folder, _, names in sorted(os.walk(self.path)):
            for name in sorted(names):
                if name.endswith((".cu", ".h")):
                    with open(os.path.join(folder, name), "rb") as file:
                        sum.update(file.read())
        return os.path.join(tool.programs(), "libraries", sum.hexdigest()[:32])

    def rebuild(self, library, device):
        """A library that doesn't load here gives way to one that does."""
        self.check_sources()
        if not self.is_saved and os.path.dirname(library) == self.file("build"):
            raise StitchError(f"{library} does not load on this machine", "remove it: it is compiled again when it is needed")
        os.rename(library, f"{library}.{os.getpid()}.old")
        os.remove(f"{library}.{os.getpid()}.old")
        return self.library(device)

    def check_sources(self):
        if not os.path.exists(self.file("program.cu")):
            raise StitchError(f"the program's folder {self.path} is gone", "optimize the model again, or load a saved copy")

    def sources(self):
        found = []
        for folder in (self.path, self.file("regions")):
            if os.path.isdir(folder):
                found += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".cu")]
        return found

    def compile_emulated(self, out):
        words = [tool.emulator_compiler(), "library", "--include", self.file("include"), "--include", self.path, "--out", out]
        for source in self.sources():
            words += ["--source", source]
        self.run(words, "the emulated GPU")

    def compile_cuda(self, out, architecture):
        from torch.utils.cpp_extension import CUDA_HOME

        nvcc = os.path.join(CUDA_HOME, "bin", "nvcc") if CUDA_HOME else shutil.which("nvcc")
        if not nvcc or not os.path.exists(nvcc):
            raise StitchError(f"{self.name} has to be compiled for this GPU, and there is no nvcc", "install the CUDA toolkit, or set CUDA_HOME")
        with tempfile.TemporaryDirectory(dir=os.path.dirname(out)) as scratch:
            unit, draft = os.path.join(scratch, "all.cu"), os.path.join(scratch, "program.so")
            with open(unit, "w") as file:
                file.writelines(f'#include "{source}"\n' for source in self.sources() if os.path.dirname(source) != self.path)
            own = [source for source in self.sources() if os.path.dirname(source) == self.path]
            self.run(
                [
                    nvcc,
                    "-std=c++17",
                    "-O3",
                    "-shared",
                    "-Xcompiler",
                    "-fPIC,-fvisibility=hidden",
                    f"-arch=sm_{architecture}",
                    "-I" + self.file("include"),
                    *own,
                    unit,
                    *("-l" + library for library in self.manifest.get("libraries", [])),
                    "-o",
                    draft,
                ],
                f"sm_{architecture}",
            )
            os.replace(draft, out)

    def run(self, words, target):
        done = subprocess.run(words, capture_output=True, text=True, env=tool.environment())
        if done.returncode != 0:
            raise StitchError(f"{self.name} does not compile for {target}:\n{(done.stderr or done.stdout).strip()[-2000:]}")
