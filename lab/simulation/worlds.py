"""The noises that detection is measured in, by name and in words."""

from simulation.nights import World

WORLDS = {
    "normal": World(recorded=False),
    "outliers": World(recorded=False, outliers=0.05),
    "recorded": World(),
    "drift": World(recorded=False, drift=0.002),
    "weekday": World(recorded=False, weekday=0.02),
    "missing": World(recorded=False, missing=0.2),
    "memory": World(recorded=False, memory=0.5),
    "tails": World(recorded=False, tails=3),
    "modes": World(recorded=False, spread=0.01, modes=0.04),
}
WORDS = {
    "normal": "normal noise",
    "outliers": "and 5 % of nights 1.3 times as slow",
    "recorded": "recorded noise",
    "drift": "normal, a random walk of 0.2 % a night",
    "weekday": "normal, weekends 2 % faster",
    "missing": "normal, 20 % of nights missing",
    "memory": "normal, each night follows the last (AR(1), 0.5)",
    "tails": "heavy tails (Student's t, 3 degrees of freedom)",
    "modes": "two modes 4 % apart, 1 % within each",
}
