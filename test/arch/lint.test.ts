// process: own - starts the linter
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'
import test from 'ava'

const root = fileURLToPath(new URL('../..', import.meta.url))

// `npm test` lints the whole tree as a step of its own; here only what keeps that step honest.
const eslint = new ESLint({ cwd: root })

test.serial('the rules reach every folder of the tree', async (t) => {
  for (const file of [
    'core/kernel/clock.ts',
    'plugins/kit/route.ts',
    'adapters/sql/kit/statement.ts',
    'composition/runtime/container.ts',
    'test/arch/lint.test.ts',
  ]) {
    t.false(await eslint.isPathIgnored(root + file), file)
    const { rules } = (await eslint.calculateConfigForFile(root + file)) as {
      readonly rules: Readonly<Record<string, readonly unknown[]>>
    }
    for (const rule of [
      '@typescript-eslint/no-explicit-any',
      'no-restricted-syntax',
      'no-restricted-imports',
      'max-lines',
      'no-eval',
      'no-implied-eval',
      'no-new-func',
      'eqeqeq',
    ])
      t.is(rules[rule]?.[0], 2, `${rule} in ${file}`)
  }
})

const inCore = 'core/kernel/clock.ts'
const inRating = 'core/rating/rate.ts'
const inComposition = 'composition/runtime/container.ts'
const inAdapters = 'adapters/sql/kit/statement.ts'
const inPages = 'composition/part/pages/files/scripts/kit.js'

for (const [file, text, expected] of [
  [inCore, 'export default 1', /export the value under the name/],
  [inCore, 'export enum Colour { red }', /union of literals/],
  [inComposition, '@sealed\nexport class A {}\ndeclare const sealed: ClassDecorator', /No decorators/],
  [inCore, "import * as E from 'fp-ts/Either'\nexport const x = E", /one form/],
  [inCore, "import { left } from 'fp-ts/lib/Either'\nexport const x = left", /one form/],
  [inCore, "import { none } from 'fp-ts/lib/Option.js'\nexport const x = none", /A \| undefined/],
  [inComposition, "import { request } from 'undici'\nexport const x = request", /adapters\/outbound/],
  [inComposition, "import https from 'node:https'\nexport const x = https", /adapters\/outbound/],
  [inAdapters, "export const x = () => fetch('http://a')", /fetch follows redirects/],
  [inCore, 'export const now = () => new Date()', /Clock port/],
  [inCore, 'export const now = () => Date.now()', /Clock port/],
  [inAdapters, 'export const startedAt = new Date()', /time of the database/],
  [inComposition, 'export const later = (now = Date.now) => now() + 1', /time of the database/],
  [inCore, 'export const x = () => Math.random()', /Entropy port/],
  [inCore, "export const x = Buffer.from('a')", /Uint8Array/],
  [inCore, 'export const x = process.env', /as an argument/],
  [inRating, 'export const f = (x: number) => x * 2', /Money and quantities are exact/],
  [inRating, 'export const f = (x: number) => x / 2', /Money and quantities are exact/],
  [inRating, 'export const f = (x: string) => Number(x)', /Money and quantities are exact/],
  [inRating, 'export const f = (x: number) => Math.round(x)', /Money and quantities are exact/],
  [inCore, 'export const f = (x: any) => x', /any/],
  [inComposition, "console.log('a')\nexport const x = 1", /console/],
  [inAdapters, 'export const text = (value: unknown) => JSON.stringify(value)', /toWireJson/],
  [inCore, 'const { stringify } = JSON\nexport const text = stringify', /toWireJson/],
  [inPages, 'export const show = (text) => { document.body.innerHTML = text }', /textContent/],
  [inPages, 'export const keep = (text) => localStorage.setItem("a", text)', /not defined/],
] as const)
  test.serial(`refused: ${text.replaceAll('\n', '; ').slice(0, 70)}`, async (t) => {
    const [result] = await eslint.lintText(text, { filePath: `${root}${file}` })
    const messages = (result?.messages ?? []).map(({ message }) => message)
    t.true(
      messages.some((message) => expected.test(message)),
      JSON.stringify(messages),
    )
  })

test.serial('the rules that need types find each line of their fixture', (t) => {
  const options = ['--type-aware', '-c', 'test/arch/oxlint.json', '--format', 'json']
  const { stdout } = spawnSync('oxlint', [...options, 'test/arch/fixtures/lint/promises.ts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { readonly code: string }[] }
  t.deepEqual(diagnostics.map(({ code }) => code).sort(), [
    'typescript(await-thenable)',
    'typescript(no-floating-promises)',
    'typescript(no-misused-promises)',
    'typescript(only-throw-error)',
    'typescript(switch-exhaustiveness-check)',
  ])
})
