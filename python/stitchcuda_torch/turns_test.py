import fcntl
import os
import tempfile
import unittest

from .turns import Turns


class TurnsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def is_free(self, name):
        with open(os.path.join(self.folder.name, name), "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

    def test_keeps_whoever_wants_to_be_alone_out(self):
        with Turns(self.folder.name).beside_others():
            self.assertFalse(self.is_free("gpu.lock"))
            self.assertTrue(self.is_free("gpu.door"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_is_beside_others(self):
        with Turns(self.folder.name).beside_others(), Turns(self.folder.name).beside_others():
            self.assertFalse(self.is_free("gpu.lock"))

    def test_without_a_folder_there_is_nothing_to_wait_for(self):
        with Turns().beside_others():
            pass


if __name__ == "__main__":
    unittest.main()
