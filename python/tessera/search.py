"""Which configuration to try next: all of them, random ones, or Optuna's TPE by ask and tell.

Optuna is optional. With it a study lies in a journal file beside the records, and all processes that tune the same key ask it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import os
import random
import warnings

from .records import Records
from .space import Space, name_of
from .wording import remind

INSTALL = "pip install optuna==5.0.0"


def load_optuna():
    """The module, or None."""
    try:
        import optuna
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Exhaustive:
    """All points, the default first."""

    def __init__(self, space: Space, records: Records, seed: int):
        self._left = list(space.legal())

    def ask(self) -> dict | None:
        return self._left.pop(0) if self._left else None

    def tell(self, config: dict, seconds: float | None) -> None:
        pass


class Random:
    """A sample without repetition, the default first; the same for the same key."""

    def __init__(self, space: Space, records: Records, seed: int):
        first, *rest = space.legal()
        random.Random(seed).shuffle(rest)
        self._left = [first, *rest]

    ask, tell = Exhaustive.ask, Exhaustive.tell


class Study:
    """Optuna's TPE or random sampler over the axes; a point that was tried or is not legal is answered for it."""

    def __init__(self, space: Space, records: Records, seed: int, optuna, kind: str, startup: int):
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        self.space, self.records, self.optuna = space, records, optuna
        self._random = random.Random(seed)
        self._axes = {"+".join(axis.names): optuna.distributions.CategoricalDistribution(tuple(range(len(axis.values)))) for axis in space.axes}
        storage = None
        if records.prepare():
            path = str(records.folder / f"{records.digest}.journal")
            os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
            storage = JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path)))
        seed ^= os.getpid()  # processes with one seed would all ask for the same points
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental arguments
            sampler = (optuna.samplers.RandomSampler(seed=seed) if kind == "random" else
                       optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True, n_startup_trials=startup))
        self.study = optuna.create_study(storage=storage, study_name=records.digest, load_if_exists=True, sampler=sampler, direction="minimize")
        self._asked: dict = {}
        self._started = False
        self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        """What others measured, without Optuna or under another name of the study, is news to the study."""
        told = {name for name in (t.user_attrs.get("config") for t in self.study.get_trials(deepcopy=False)) if name}
        for name, entry in self.records.known.items():
            choices = self.space.choices_of(entry["config"])
            if name in told or choices is None or entry["state"] != "ok":
                continue
            self.study.add_trial(self.optuna.trial.create_trial(
                params=dict(zip(self._axes, choices)), distributions=self._axes, value=entry["ratio"], user_attrs={"config": name}))

    def ask(self) -> dict | None:
        if not self._started:
            self._started = True
            default = name_of(self.space.default)
            if default not in self.records.known:
                self._asked[default] = None  # told by the records
                return self.space.default
        for _ in range(32):
            trial = self.study.ask(self._axes)
            config = self.space.at([trial.params[name] for name in self._axes])
            name = name_of(config)
            if name in self._asked or name in self.records.known or not self.space.allows(config):
                known = self.records.known.get(name, {})
                if known.get("state") == "ok":
                    self.study.tell(trial, known["ratio"])
                else:
                    self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
                continue
            trial.set_user_attr("config", name)
            self._asked[name] = trial
            return config
        left = [config for config in self.space.legal() if name_of(config) not in self.records.known and name_of(config) not in self._asked]
        return self._random.choice(left) if left else None

    def tell(self, config: dict, seconds: float | None) -> None:
        trial = self._asked.get(name_of(config))
        if trial is None:
            if seconds is not None:
                self._bring_up_to_date()
        elif seconds is None:
            self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(trial, seconds)


def sampler(strategy: str, space: Space, records: Records, budget: int, seed: int):
    """`strategy`: auto takes all points if the budget allows, else TPE."""
    if strategy == "exhaustive" or (strategy == "auto" and len(space.legal()) <= budget):
        return Exhaustive(space, records, seed)
    optuna = load_optuna()
    if optuna is not None:
        return Study(space, records, seed, optuna, strategy, startup=max(3, min(10, budget // 4)))
    if strategy != "random":
        remind(f"the tuner samples at random, because Optuna is not installed: {INSTALL}")
    return Random(space, records, seed)
