import test from 'ava'
import fc from 'fast-check'
import type { ManifestDiff } from '../../../core/formats/kubernetes/manifest-diff.ts'
import { describeDiff, diffManifests } from '../../../core/formats/kubernetes/manifest-diff.ts'
import { chartTexts, objectsIn, textDiff } from '../texts.ts'

const compare = async (from: string, to: string): Promise<ManifestDiff> =>
  diffManifests({ chartTexts, textDiff }, await objectsIn(from), await objectsIn(to), {
    home: 'shop',
    redact: (text) => text,
  })

const configMap = (name: string, value: string, more = ''): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}data:\n  value: ${value}\n`
const keep = '  annotations:\n    helm.sh/resource-policy: keep\n'
const secret = (name: string, field: string, values: Record<string, string>): string =>
  `---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\n${field}:\n${Object.entries(values)
    .map(([key, value]) => `  ${key}: ${value}\n`)
    .join('')}`

test('objects are added, changed, removed, kept and left alone', async (t) => {
  const from =
    configMap('same', 'a') + configMap('changed', 'old') + configMap('gone', 'x') + configMap('stays', 'x', keep)
  const to = configMap('same', 'a') + configMap('changed', 'new') + configMap('fresh', 'z')
  const diff = await compare(from, to)
  t.deepEqual(
    diff.objects.map(({ object, change }) => `${object} ${change}`),
    ['ConfigMap changed changed', 'ConfigMap fresh added', 'ConfigMap gone removed', 'ConfigMap stays kept'],
  )
  t.is(describeDiff(diff), '1 added, 1 changed, 1 removed, 1 kept by policy, 1 unchanged')
  t.regex(diff.objects[0]?.diff ?? '', /^@@[^]*\n- {2}value: old\n\+ {2}value: new\n$/)
  t.regex(diff.objects[1]?.diff ?? '', /\n\+ {2}value: z\n/)
  t.regex(diff.objects[2]?.diff ?? '', /\n- {2}value: x\n/)
  t.is(diff.objects[3]?.diff, '')
})

test('an object keeps its identity under a newer API version only', async (t) => {
  const at = (apiVersion: string, namespace: string): string =>
    `---\napiVersion: ${apiVersion}\nkind: Widget\nmetadata:\n  name: w\n  namespace: ${namespace}\n`
  t.is(
    describeDiff(await compare(at('x.example/v1', 'shop'), at('x.example/v2', 'shop'))),
    '0 added, 1 changed, 0 removed, 0 kept by policy, 0 unchanged',
  )
  t.is(
    describeDiff(await compare(at('x.example/v1', 'shop'), at('x.example/v1', 'other'))),
    '1 added, 0 changed, 1 removed, 0 kept by policy, 0 unchanged',
  )
})

for (const field of ['data', 'stringData']) {
  test(`the ${field} of a Secret is never shown, only which keys differ`, async (t) => {
    const diff = await compare(
      secret('s', field, { same: 'sesame-one', other: 'sesame-two', gone: 'sesame-three' }),
      secret('s', field, { same: 'sesame-one', other: 'sesame-four', fresh: 'sesame-five' }),
    )
    const text = JSON.stringify(diff)
    t.false(text.includes('sesame'))
    t.regex(diff.objects[0]?.diff ?? '', / same: \(hidden\)\n/)
    t.regex(diff.objects[0]?.diff ?? '', /- {2}other: \(hidden, old\)\n/)
    t.regex(diff.objects[0]?.diff ?? '', /\+ {2}other: \(hidden, new\)\n/)
    for (const [from, to] of [
      ['', secret('s', field, { a: 'sesame' })],
      [secret('s', field, { a: 'sesame' }), ''],
    ] as const)
      t.false(JSON.stringify(await compare(from, to)).includes('sesame'))
  })
}

test('a long difference is truncated with a notice', async (t) => {
  const long = configMap('long', `"${'x\\n'.repeat(20_000)}"`)
  const cut = await compare('', long)
  t.regex(cut.objects[0]?.diff ?? '', /… \d+ more lines\n$/)
  t.true(JSON.stringify(cut).length < 20_000)
  const many = Array.from({ length: 700 }, (_, index) => configMap(`c${index}`, 'v')).join('')
  const diff = await compare('', many)
  t.is(diff.added, 700)
  t.is(diff.objects.length, 500)
  t.is(diff.cut, '200 more objects differ; their lines are left out for length')
})

const name = fc.constantFrom('a', 'b', 'c', 'd')
const manifest = fc
  .uniqueArray(fc.tuple(name, fc.constantFrom('1', '2', '3')), { selector: ([each]) => each })
  .map((entries) => entries.map(([each, value]) => configMap(each, `"${value}"`)).join(''))

test('a comparison with itself is empty, and one the other way round is its mirror', async (t) => {
  await fc.assert(
    fc.asyncProperty(manifest, manifest, async (from, to) => {
      const self = await compare(from, from)
      t.is(self.added + self.changed + self.removed + self.objects.length, 0)
      const [there, back] = [await compare(from, to), await compare(to, from)]
      t.deepEqual(
        [there.added, there.removed, there.changed, there.unchanged],
        [back.removed, back.added, back.changed, back.unchanged],
      )
    }),
  )
})
