// process: waiting - uses components
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pythonPackages, toolEnvironment } from '../openapi/generators.ts'
import { needing } from '../support/components/needing.ts'
import { findExecutable, runCommand } from '../support/components/run-command.ts'
import { randomFocusFile } from './focus-file.ts'

/** The validator of the FinOps Foundation. */
const test = needing('generators')

/** What a vendor of software supports. The other criteria are about clouds and discounts for commitments. */
const criteria = [
  'ACCOUNT_NAMING_SUPPORTED',
  'NEGOTIATED_PRICING_SUPPORTED',
  'PUBLIC_PRICE_LIST_SUPPORTED',
  'USAGE_MEASUREMENT_SUPPORTED',
  'UNIT_PRICING_SUPPORTED',
  'SUB_ACCOUNT_SUPPORTED',
]

/** Rules whose conditions the validator does not check, so that they fail for what they do not concern. */
const unconditional = [
  // A purchase that is intended to cover future eligible charges.
  'EffectiveCost-C-005-C',
  // A charge that is not associated with an invoice.
  'InvoiceId-C-004-C',
]

const python312 = (): string => {
  const versions = join(homedir(), '.pyenv', 'versions')
  const installed = ((): readonly string[] => {
    try {
      return readdirSync(versions).filter((name) => name.startsWith('3.12.'))
    } catch {
      return []
    }
  })()
  const [own] = installed.map((name) => join(versions, name, 'bin', 'python3.12'))
  const path = own ?? findExecutable('python3.12')
  if (path !== undefined) return path
  throw new Error('python3.12 was not found: install it with pip, or switch these tests off with --without generators')
}

test('the validator of FOCUS finds no failed rule in 100,000 charges', async (t) => {
  t.timeout(1_200_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-focus-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'focus.csv')
  const text = await randomFocusFile(18_000)
  t.true(text.split('\r\n').length > 100_000)
  writeFileSync(file, text)
  const python = python312()
  const packages = await pythonPackages('focus-validator', python)
  const validate = ['--data-file', file, '--validate-version', '1.2', '--block-download']
  const { stdout, stderr } = await runCommand(
    python,
    [
      '-c',
      'from focus_validator.main import main; main()',
      ...validate,
      '--applicability-criteria',
      criteria.join(','),
    ],
    // It opens its list of currencies relative to this folder. Its exit status is 0 whatever fails.
    { cwd: packages, environment: toolEnvironment({ PYTHONPATH: packages }), timeoutMilliseconds: 600_000 },
  )
  const [, passed] = /Pass: (\d+)/.exec(stdout) ?? []
  t.true(Number(passed) > 200, stderr)
  const failed = [...stdout.matchAll(/([A-Za-z]+-[A-Z]-\d+-[A-Z]): FAIL/g)].map(([, rule]) => rule)
  t.deepEqual([...new Set(failed)].sort(), unconditional)
})
