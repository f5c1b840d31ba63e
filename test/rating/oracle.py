"""Computes invoices by the rules of docs/prices.md, in fractions. Reads a JSON list of accounts, prints their amounts."""

import json
import math
import sys
from fractions import Fraction


def in_month(entries, month):
    """Rule 1."""
    found = None
    for entry in entries:
        if entry["from"] <= month and (found is None or entry["from"] >= found["from"]):
            found = entry
    return found


def minor(amount, digits):
    """Rule 6: half away from zero."""
    scaled = abs(amount) * 10**digits
    whole = math.floor(scaled + Fraction(1, 2))
    return -whole if amount < 0 else whole


def share_of(account, products, product):
    """Rule 2."""
    seconds = [p["seconds"] for p in products if product is None or p["product"] == product]
    return Fraction(max(seconds, default=0), account["monthSeconds"])


def quantity_of(products, price, share):
    """Rule 3."""
    total = Fraction(0)
    for used in products:
        if used["product"] != price.get("product") or "measure" not in price:
            continue
        use = price.get("use", "all")
        if use in ("prod", "all"):
            total += Fraction(used["prod"][price["measure"]])
        if use in ("non-prod", "all"):
            total += Fraction(used["nonProd"][price["measure"]])
    return max(Fraction(0), total - Fraction(price.get("included", "0")) * share)


def charge_of(price, quantity, share):
    """Rules 4 and 5."""
    amount = Fraction(price.get("amount", "0"))
    model = price["model"]
    if model == "flat":
        charge = amount * share
    elif model == "per-unit":
        charge = quantity * amount
    elif model == "package":
        charge = math.ceil(quantity / Fraction(price["packageSize"])) * amount
    elif model == "graduated":
        charge, start = Fraction(0), Fraction(0)
        for tier in price["tiers"]:
            end = Fraction(tier["upTo"]) * share if "upTo" in tier else quantity
            part = min(end, quantity) - start
            if part > 0:
                charge += part * Fraction(tier["unitPrice"])
            start = end
    else:
        tier = next(t for t in price["tiers"] if "upTo" not in t or quantity <= Fraction(t["upTo"]) * share)
        charge = quantity * Fraction(tier["unitPrice"])
    if "maximum" in price:
        charge = min(charge, Fraction(price["maximum"]) * share)
    if "minimum" in price:
        charge = max(charge, Fraction(price["minimum"]) * share)
    return charge


def lines_of(account, contract):
    version = in_month(contract["versions"], account["month"])
    terms = in_month(contract["terms"], account["month"])
    if version is None or terms is None:
        return []
    products = contract["use"]["products"]
    digits = account["digits"]
    keep = (100 - Fraction(terms["discountPercent"])) / 100
    nets = {}
    for price in version["prices"]:
        share = share_of(account, products, price.get("product"))
        if price["model"] == "percentage" or share == 0:
            continue
        charge = charge_of(price, quantity_of(products, price, share), share)
        nets[price["id"]] = minor(charge * keep, digits)
    lines = []
    for price in version["prices"]:
        if price["model"] == "percentage":
            counted = [nets[i] for i in price["percentOf"] if i in nets]
            if counted:
                lines.append([price["id"], minor(Fraction(sum(counted)) * Fraction(price["amount"]) / 100, 0)])
        elif price["id"] in nets:
            lines.append([price["id"], nets[price["id"]]])
    if "commitment" in terms:
        least = minor(Fraction(terms["commitment"]) * share_of(account, products, None), digits)
        spent = sum(net for _, net in lines)
        if spent < least:
            lines.append(["commitment", least - spent])
    return lines


def invoices_of(account):
    lines = [line for contract in account["contracts"] for line in lines_of(account, contract)]
    credited = {}
    for credit in account["credits"]:
        credited[credit["line"]] = credit["percent"]
    notes = []
    for number, percent in credited.items():
        if number <= len(lines):
            net = minor(Fraction(lines[number - 1][1]) * percent / 100, 0)
            if net > 0:
                notes.append([lines[number - 1][0], net])
    tax = Fraction(account["taxPercent"]) / 100
    result = []
    for of in (lines, notes):
        if of:
            net = sum(amount for _, amount in of)
            result.append({"lines": of, "net": net, "tax": minor(net * tax, 0)})
    return result if lines else []


print(json.dumps([invoices_of(account) for account in json.load(sys.stdin)]))
