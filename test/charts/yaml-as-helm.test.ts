import { isLeft } from 'fp-ts/lib/Either.js'
import { kubernetesYamlText } from '../../adapters/charts/kubernetes-yaml.ts'
import { chartArchive, chartYaml } from '../support/charts/archive.ts'
import { helmTemplate, tellValues, toldValues } from '../support/charts/helm-template.ts'
import { plainNumbers } from '../support/charts/plain-numbers.ts'
import { helm } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'

const test = needing('helm')

const scalars = [
  'y', 'Y', 'yes', 'Yes', 'YES', 'yEs', 'n', 'no', 'No', 'NO', 'on', 'On', 'ON', 'off', 'Off', 'OFF', 'true', 'True', 'TRUE', 'tRue', 'false', 'False', 'FALSE',
  '~', 'null', 'Null', 'NULL', 'nULL', '', '""', "''",
  '0', '-0', '+1', '-1', '007', '0777', '-0777', '08', '09.5', '0o17', '0O17', '0o18', '0x1F', '0X1f', '-0x1F', '0b101', '-0b101', '0b102', '1_000', '1__0', '_1', '1_', '0x_1F', '0_7',
  '9223372036854775807', '-9223372036854775808', '18446744073709551615', '18446744073709551616', '9007199254740993', '123456789012345678901234567890', '0xFFFFFFFFFFFFFFFF',
  '1.5', '-1.5', '+1.5', '1.', '.5', '-.5', '.', '1.5.2', '1e3', '1E3', '1e+3', '1e-3', '1.5e3', '.5e3', 'e3', '1e', '1e400', '1_0.5', '._5', '0.0', '1.0', '1e21', '1e20', '6.02e23',
  '1:30', '12:30:45', '190:20:30.15', '2001-12-14', '2001-12-14T21:59:43Z', '2001-12-14 21:59:43.10 -5', '2001-1-1',
  '!!str 12', '!!int "12"', '!!float 1', '!!bool "yes"', '!!null ""', '!!binary aGVsbG8=', '!custom 12', '!custom text', '!!timestamp 2001-12-14', '! 12',
  '=', '<<', '1.2.3', 'v1', '-', '--', '- a', '"\\u00e9\\x41\\n"', "'it''s'", '0.1.0', '1,000', '100%', '$100', 'a#b', 'a #b', '"a #b"', '[]', '{}', '[y, 0777, a]', '{y: n, 1: 2}', '[a, b, ]', '1e1000', '0x', '0b', '+', '+a', '-a', 'Infinity', 'NaN', 'inf', '.infinity',
]

const documents = [
  'a: 1\nb:\n- 1\n- 2\nc:\n  - x: 1\n    y: 2\n',
  'on: 1\nyes: 2\n8080: http\n0777: octal\n1.5: float\n"null": text\ntrue: last\n',
  'a: &x {b: 1, c: [1, 2]}\nd: *x\ne: {<<: *x, b: 2}\nf: {b: 3, <<: *x}\ng: {<<: [{b: 7}, {b: 8, z: 9}], q: 1}\n',
  'text: |\n  one\n   two\n\nfolded: >-\n  one\n  two\n\n  three\nkeep: |+\n  x\n\nend: 1\n',
  'twice: 1\ntwice: 2\nmap: {a: 1, a: 2}\n',
  '# a comment\n---\na: 1 # another\n',
  'a: "quoted \\" text"\nb: plain text\n',
  'a: !!set {x, y}\nb: !!omap [x: 1, y: 2]\nc: !foo {a: 1}\nd: !bar [1]\n',
  'multi: first\n  second\n  third\n',
  '? a\n: 1\n? b\n: 2\n',
  'a: [1,\n 2,\n 3]\nb: {x: 1,\n y: 2}\n',
  'empty:\nlist:\n-\n- a\n',
  '\uFEFFa: 1\n',
  'ключ: значение\n日本: 語\nemoji: 😀\n',
  'a:\n- - 1\n  - 2\n- - 3\n',
  'a: 1\n---\n',
]

const unreadable = ['a: .inf', 'a: .nan', '~: 1', '[a]: 1', 'a: *nothing', 'a: [1', 'a: {b: 1', '\ta: 1', 'a: b: c', '- a\n- b', 'text', '!!int abc: 1', 'a: !!int abc', 'a: "\\q"', 'a: b\n c: d\n  e: f']

const ours = (text: string): unknown => {
  const parsed = kubernetesYamlText.parse(text)
  if (isLeft(parsed)) return 'refused'
  const value = parsed.right ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) return 'refused'
  return plainNumbers(value)
}

const byHelm = async (command: string, text: string): Promise<unknown> => {
  const archive = await chartArchive({ 'Chart.yaml': chartYaml('web'), 'values.yaml': text, 'templates/tell.yaml': tellValues })
  const rendered = await helmTemplate(command, archive, '{}')
  return 'error' in rendered ? 'refused' : toldValues(rendered.manifest).get('web/templates/tell.yaml')
}

/** Null in a chart's own values stays in some versions and goes in others: not a matter of reading. */
const markNull = (text: string): string => (text === '' || /^(~|null|Null|NULL|!!null "")$/.test(text) ? `[${text === '' ? '~' : text}]` : text)

for (const major of ['helm3', 'helm4'] as const) {
  test(`${major} reads scalars as we do`, async (t) => {
    const command = (await helm())![major]
    const text = scalars.map((scalar, i) => `k${i}: ${markNull(scalar)}`)
    const accepted = text.filter((line) => ours(line) !== 'refused').join('\n')
    const [our, its] = [ours(accepted), await byHelm(command, accepted)] as [Record<string, unknown>, Record<string, unknown>]
    t.true(Object.keys(its).length > 120)
    for (const [i, scalar] of scalars.entries()) t.deepEqual(our[`k${i}`], its[`k${i}`], scalar)
    for (const line of text.filter((each) => ours(each) === 'refused')) t.is(await byHelm(command, line), 'refused', line)
  })

  for (const document of documents) {
    test(`${major} reads a document as we do: ${JSON.stringify(document)}`, async (t) => {
      t.not(ours(document), 'refused')
      t.deepEqual(ours(document), await byHelm((await helm())![major], document))
    })
  }

  for (const text of unreadable) {
    test(`${major} and we refuse ${JSON.stringify(text)}`, async (t) => {
      t.is(ours(text), 'refused')
      t.is(await byHelm((await helm())![major], text), 'refused')
    })
  }
}
