"""A lent process is what the borrower would have been, and ends with it."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from ..base.start import VARIABLE, confinement, may_borrow
from ..reference.server_test import EXAMPLES, PYTHON_FOLDER, Server


class MayBorrowTest(unittest.TestCase):
    def test_nobody_who_is_confined(self):
        """The process at the other end of a socket, before and after it may gain no privileges any more."""
        self.assertTrue(self.asked(confined=False))
        self.assertFalse(self.asked(confined=True) and not confinement("self")[0])

    def asked(self, confined):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            path = os.path.join(folder, "socket")
            listener.bind(path)
            listener.listen(1)
            confine = "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0);" if confined else ""
            code = f"import ctypes, socket; {confine} s = socket.socket(socket.AF_UNIX); s.connect({path!r}); s.recv(1)"
            with subprocess.Popen([sys.executable, "-c", code]) as process:
                borrower, _ = listener.accept()
                with borrower:
                    answer = may_borrow(borrower)
                process.wait()
            return answer


class ServerTest(unittest.TestCase):
    def test_waits_for_clients_however_long(self):
        """PyTorch's side has a default timeout for downloads (protocol.quiet_libraries)."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            code = f"""if True:
                import socket
                from stitchcuda_torch import lend
                socket.setdefaulttimeout(0.1)
                lend.serve({path!r}, lambda listener, borrower: borrower.sendall(b"lent"))"""
            with subprocess.Popen([sys.executable, "-c", code], cwd=PYTHON_FOLDER, stdout=subprocess.PIPE, text=True) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                time.sleep(0.5)
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(path)
                    self.assertEqual(client.recv(4), b"lent")
                process.kill()


class LendTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "lender")
        self.lender = subprocess.Popen(
            [sys.executable, "-m", "stitchcuda_torch.lend", self.path], cwd=PYTHON_FOLDER, stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(self.lender.stdout.readline(), "ready\n")

    def tearDown(self):
        self.lender.kill()
        self.lender.communicate()
        self.folder.cleanup()

    def lent(self):
        with open(f"/proc/{self.lender.pid}/task/{self.lender.pid}/children") as file:
            return file.read().split()

    def borrow(self):
        with mock.patch.dict(os.environ, {VARIABLE: self.path}):
            return Server()

    def wait_for(self, count):
        deadline = time.monotonic() + 20
        while len(self.lent()) != count and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(self.lent()), count)

    def test_serves_and_ends_with_its_input(self):
        first, second = self.borrow(), self.borrow()
        for server in (first, second):
            os.mkdir(server.path("graph"))
            task = os.path.join(EXAMPLES, "mlp.py")
            self.assertIn("done", server.exchange({"task": task, "out": server.path("graph")}))
            self.assertEqual(server.ask("load", task=task)["class"], "Model")
        self.assertEqual(len(self.lent()), 2)
        first.close()
        second.close()
        self.wait_for(0)

    def test_dies_with_the_borrower(self):
        server = self.borrow()
        self.assertIn("ok", server.ask("distributions"))
        self.wait_for(1)
        server.process.kill()
        server.process.communicate()
        server.folder.cleanup()
        self.wait_for(0)

    def test_nobody_lends(self):
        self.path += ".not"
        server = self.borrow()
        self.assertIn("ok", server.ask("distributions"))
        self.assertEqual(self.lent(), [])
        server.close()

    def test_exports(self):
        with tempfile.TemporaryDirectory() as out:
            command = [sys.executable, "-m", "stitchcuda_torch.export", os.path.join(EXAMPLES, "mlp.py"), "--out", out]
            start = time.monotonic()
            done = subprocess.run(command, cwd=PYTHON_FOLDER, env={**os.environ, VARIABLE: self.path}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"done"', done.stdout)
            self.assertLess(time.monotonic() - start, 30)
            self.assertEqual(sorted(os.listdir(out)), ["aten.json", "weights.safetensors"])
