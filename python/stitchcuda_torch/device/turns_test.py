import fcntl
import os
import tempfile
import threading
import unittest

from .turns import SECONDS_OF_A_TURN, Turns


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

    def test_has_one_turn_at_a_time(self):
        turns = Turns(self.folder.name)
        with turns.beside_others():
            with turns.beside_others():
                pass
            self.assertFalse(self.is_free("gpu.lock"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_lets_others_go_first_in_a_pause(self):
        turns, alone = Turns(self.folder.name), Turns(self.folder.name)
        with turns.beside_others():
            entered = threading.Event()

            def be_alone():
                door = alone.locked("gpu.door", fcntl.LOCK_EX)
                waiting.set()
                room = alone.locked("gpu.lock", fcntl.LOCK_EX)
                entered.set()
                os.close(room)
                os.close(door)

            waiting = threading.Event()
            thread = threading.Thread(target=be_alone)
            thread.start()
            waiting.wait()
            turns.pause()
            self.assertFalse(entered.is_set(), "a turn that has just begun goes on")
            turns.entered -= SECONDS_OF_A_TURN
            turns.pause()
            self.assertTrue(entered.is_set())
            thread.join()
            self.assertFalse(self.is_free("gpu.lock"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_goes_on_where_nobody_waits(self):
        turns = Turns(self.folder.name)
        with turns.beside_others():
            turns.entered -= SECONDS_OF_A_TURN
            room = turns.room
            turns.pause()
            self.assertEqual(turns.room, room)
            self.assertTrue(self.is_free("gpu.door"))

    def test_without_a_folder_there_is_nothing_to_wait_for(self):
        turns = Turns()
        with turns.beside_others():
            turns.pause()
        self.assertEqual(turns.waited, 0)


if __name__ == "__main__":
    unittest.main()
