import fcntl
import os
import tempfile
import threading
import unittest

from .gpu_lock import SECONDS_AT_A_TIME, GpuLock


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
        with GpuLock(self.folder.name).shared():
            self.assertFalse(self.is_free("gpu.lock"))
            self.assertTrue(self.is_free("gpu.door"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_is_beside_others(self):
        with GpuLock(self.folder.name).shared(), GpuLock(self.folder.name).shared():
            self.assertFalse(self.is_free("gpu.lock"))

    def test_has_one_turn_at_a_time(self):
        lock = GpuLock(self.folder.name)
        with lock.shared():
            with lock.shared():
                pass
            self.assertFalse(self.is_free("gpu.lock"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_lets_others_go_first_in_a_pause(self):
        lock, alone = GpuLock(self.folder.name), GpuLock(self.folder.name)
        with lock.shared():
            entered = threading.Event()

            def be_alone():
                door = alone.locked("gpu.door", fcntl.LOCK_EX)
                waiting.set()
                held = alone.locked("gpu.lock", fcntl.LOCK_EX)
                entered.set()
                os.close(held)
                os.close(door)

            waiting = threading.Event()
            thread = threading.Thread(target=be_alone)
            thread.start()
            waiting.wait()
            lock.make_way()
            self.assertFalse(entered.is_set(), "a turn that has just begun goes on")
            lock.entered -= SECONDS_AT_A_TIME
            lock.make_way()
            self.assertTrue(entered.is_set())
            thread.join()
            self.assertFalse(self.is_free("gpu.lock"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_goes_on_where_nobody_waits(self):
        lock = GpuLock(self.folder.name)
        with lock.shared():
            lock.entered -= SECONDS_AT_A_TIME
            held = lock.held
            lock.make_way()
            self.assertEqual(lock.held, held)
            self.assertTrue(self.is_free("gpu.door"))

    def test_without_a_folder_there_is_nothing_to_wait_for(self):
        lock = GpuLock()
        with lock.shared():
            lock.make_way()
        self.assertEqual(lock.waited, 0)
