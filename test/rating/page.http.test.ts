// process: waiting - runs other programs
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import type { MonthKey } from '../../core/usage/types.ts'
import { sample as contracts } from '../contracts/sample.ts'
import { accountIds } from '../organizations/sample.ts'
import { toolEnvironment } from '../openapi/generators.ts'
import { runCommand } from '../support/components/run-command.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { monthOfUse, plantMonth } from './billing-fixture.ts'

/** The commands of docs/prices.md, as a person pastes them. */
const commandsOfPage = (): readonly string[] => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/prices.md', import.meta.url)), 'utf8')
  return [...page.matchAll(/^( *)```\n([\s\S]*?)^ *```$/gm)].map(([, , text = '']) => text.replaceAll(/^ {3}/gm, ''))
}

test('the commands of docs/prices.md go from a price book to a credit note', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const folder = mkdtempSync(join(tmpdir(), 'moorage-prices-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { contractId } = service.of(contracts)
  const month = 202611 as MonthKey
  await plantMonth(
    service,
    accountIds(service.fixture)[0] ?? 0,
    monthOfUse(month, [{ contractId, cores: 12, gib: 30 }]),
  )
  const [head = '', ...blocks] = commandsOfPage()
  t.true(blocks.length >= 8)
  // The populated service has a price book and invoices of its own.
  const ids = { book: 2, invoice: 2 }
  const own = (text: string): string =>
    text
      .replaceAll('https://platform.example.com', service.baseUrl)
      .replaceAll('org=acme', 'org=harbour')
      .replaceAll('price-books/1/', `price-books/${ids.book}/`)
      .replaceAll('"priceBookID": 1', `"priceBookID": ${ids.book}`)
      .replaceAll('invoices/7/', `invoices/${ids.invoice}/`)
      .replaceAll('contracts/42/', `contracts/${contractId}/`)
      .replaceAll('"contractID": 42', `"contractID": ${contractId}`)
      .replaceAll('curl ', 'curl --max-time 20 --silent --show-error --fail-with-body --write-out "\\n" ')
  const answers: string[] = []
  for (const block of blocks) {
    const { status, stdout, stderr } = await runCommand('bash', ['-e', '-c', own(`${head}\n${block}`)], {
      cwd: folder,
      environment: toolEnvironment({ ADMIN_TOKEN: service.adminToken }),
      timeoutMilliseconds: 60_000,
    })
    t.is(status, 0, `${block}\n${stdout}${stderr}`)
    answers.push(stdout)
  }
  // 10 % off: 100, 12 × 40, 10 × 2.50 + 20 × 2, 5 % of CPU; 100 by hand; 19 % tax.
  t.regex(answers[5] ?? '', /"state":"paid","number":"MO-000001"[^}]*"net":70210,"tax":13340,"gross":83550/)
  t.regex(answers[6] ?? '', /"kind":"credit-note","state":"draft"/)
  t.deepEqual(readdirSync(folder).sort(), [
    'focus-all-2026-11.csv',
    'focus-harbour-2026-11.csv',
    'invoice-MO-000001.pdf',
  ])
})
