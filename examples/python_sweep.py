"""Which of two protocols carries more on a noisy line? Run it with `python3 python_sweep.py`."""

import wireproof


def main() -> None:
    result = wireproof.sweep(
        {
            "protocol": ["pcie", "flit"],
            "ber": {"from": 1e-8, "to": 1e-5, "points": 7},
            "payload": 940,
            "relative_error": 0.05,
        }
    )
    print(result)
    pcie, flit = (
        [row["throughput"] for row in result if row["protocol"] == name] for name in ("pcie", "flit")
    )
    rates = [row["ber"] for row in result if row["protocol"] == "pcie"]
    wins = [rate for rate, a, b in zip(rates, pcie, flit) if b > a]
    print(f"flit carries more from a bit error rate of {min(wins)} on")
    result.curve().save("curves.svg")


if __name__ == "__main__":
    main()
