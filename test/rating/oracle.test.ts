// process: waiting - runs another program
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { commandPath } from '../openapi/generators.ts'
import { makeRandom } from '../usage/sample/random.ts'
import { issuedOf, randomAccount } from './random-accounts.ts'

/** Another program computes the same invoices, from the words of docs/prices.md. */

test('a program that knows only docs/prices.md computes the same invoices', (t) => {
  const random = makeRandom('oracle')
  const accounts = Array.from({ length: 200 }, (_, i) => randomAccount(random, i + 1))
  const python = commandPath('python3', 'install Python 3.9 or newer')
  const program = fileURLToPath(new URL('oracle.py', import.meta.url))
  const { stdout, stderr } = spawnSync(python, [program], { input: JSON.stringify(accounts), encoding: 'utf8' })
  const computed = JSON.parse(stdout || '[]') as unknown[]
  t.is(computed.length, accounts.length, stderr)
  let lines = 0
  for (const [i, account] of accounts.entries()) {
    const own = issuedOf(account).map((invoice) => ({
      lines: invoice.lines.map(({ priceId, net }) => [priceId, Number(net)]),
      net: Number(invoice.net),
      tax: Number(invoice.tax),
    }))
    lines += own.flatMap((invoice) => invoice.lines).length
    t.deepEqual(computed[i], own, JSON.stringify(account))
  }
  t.true(lines > 800, `${lines} lines`)
})
