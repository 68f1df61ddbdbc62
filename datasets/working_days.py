"""Working days in Brazil: not Saturday, not Sunday, not a national holiday.

The table is of national holidays by federal law; optional days off (Carnival, Corpus Christi), and those of a state or
a city, count as working days, so that a deadline is never later than the strictest reading allows.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

# (month, day, first year): Laws 662/1949 and 10,607/2002; 6,802/1980 (12 October); 14,759/2023 (20 November)
FIXED = (
    (1, 1, 1950), (4, 21, 1950), (5, 1, 1950), (9, 7, 1950), (10, 12, 1980), (11, 2, 2002), (11, 15, 1950),
    (11, 20, 2024), (12, 25, 1950),
)  # fmt: skip
GOOD_FRIDAY = timedelta(days=-2)  # from Easter; Law 9,093/1995


def easter(year: int) -> date:
    """Easter Sunday (Gregorian calendar; the anonymous algorithm of 1876)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    wanted = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 19 * wanted) // 433
    month = (h + wanted - 7 * m + 90) // 25
    return date(year, month, (h + wanted - 7 * m + 33 * month + 19) % 32)


@cache
def holidays(year: int) -> frozenset[date]:
    """The national holidays of a year."""
    fixed = {date(year, month, day) for month, day, since in FIXED if year >= since}
    return frozenset(fixed | {easter(year) + GOOD_FRIDAY})


def is_working(day: date) -> bool:
    """Whether this is a working day."""
    return day.weekday() < 5 and day not in holidays(day.year)


def after(day: date, count: int) -> date:
    """The working day that is `count` working days after this day, which itself does not count."""
    while count:
        day += timedelta(days=1)
        count -= is_working(day)
    return day


def between(first: date, last: date) -> int:
    """Working days after `first` up to and with `last`; negative where `last` lies before."""
    if last < first:
        return -between(last, first)
    return sum(is_working(first + timedelta(days=n)) for n in range(1, (last - first).days + 1))
