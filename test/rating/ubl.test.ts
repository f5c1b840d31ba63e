// process: waiting - uses components
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isIssued, ublFileOf } from '../../core/rating/documents/files.ts'
import type { InvoiceTerms } from '../../core/rating/invoices/ports.ts'
import { decimal, toMinor } from '../../core/rating/money.ts'
import { taxCategories } from '../../core/rating/types.ts'
import { clientSources, commandPath, pythonPackages, toolEnvironment } from '../openapi/generators.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import { makeRandom } from '../usage/sample/random.ts'
import { issuedOf, randomAccount } from './random-accounts.ts'

/** The schema of UBL 2.1 and the rules of EN 16931, as the makers of the standard publish them. */
const test = needing('generators')

/** Returns the terms of an invoice with a category of tax, as `taxFault` admits them. */
const termsWith = (terms: InvoiceTerms, taxCategory: InvoiceTerms['taxCategory']): InvoiceTerms => ({
  ...terms,
  seller: { ...terms.seller, taxId: 'DE123456789', legalName: 'A <&> "B"' },
  buyer: { ...terms.buyer, taxId: 'ATU12345678', country: 'AT' },
  taxCategory,
  taxPercent: taxCategory === 'S' ? '8.1' : '0',
  taxReason: taxCategory === 'S' || taxCategory === 'Z' ? '' : 'The reason',
  notes: 'IBAN DE02 1203 0000 0000 2020 51',
})

test('invoices and credit notes keep the schema and the rules of EN 16931', async (t) => {
  t.timeout(600_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-ubl-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const random = makeRandom('ubl')
  // The rules allow two digits after the point.
  const accounts = Array.from({ length: 70 }, (_, i) => ({
    ...randomAccount(random, i + 1),
    currency: 'EUR',
    digits: 2,
  }))
  const files = accounts.flatMap(issuedOf).flatMap((invoice, i) => {
    if (!isIssued(invoice)) return []
    const terms = termsWith(invoice.terms, taxCategories[i % taxCategories.length] ?? 'S')
    const tax = toMinor(decimal(invoice.net).times(decimal(terms.taxPercent)).times(decimal('0.01')), 0)
    const [first, ...others] = invoice.lines
    const lines =
      first === undefined ? [] : [{ ...first, unitPrice: `-${first.unitPrice}`, net: -first.net }, ...others]
    const net = invoice.net - 2n * (first?.net ?? 0n)
    // An amount that is taken off.
    const shown = i % 3 === 0 && net > 0n ? { ...invoice, lines, net, tax: 0n } : { ...invoice, tax }
    const path = join(folder, `${invoice.kind}-${terms.taxCategory}-${i}.xml`)
    const isLess = shown !== invoice && shown.net !== invoice.net
    writeFileSync(path, ublFileOf({ ...shown, terms: isLess ? termsWith(terms, 'Z') : terms }))
    return [path]
  })
  t.true(files.length > 60)
  const python = commandPath('python3', 'install Python 3.9 or newer with pip (Debian: python3-pip)')
  const { stdout, stderr } = await runCommand(python, [join(clientSources, 'en16931/check.py'), ...files], {
    environment: toolEnvironment({ PYTHONPATH: await pythonPackages('en16931') }),
    timeoutMilliseconds: 300_000,
  })
  const { fired, faults } = JSON.parse(stdout || '{}') as { readonly fired: number; readonly faults: readonly string[] }
  t.deepEqual(faults, [], stderr)
  t.true(fired > 2_000)
})
