import test from 'ava'
import fc from 'fast-check'
import { diffManifests, describeDiff, type ManifestDiff } from '../../../core/packages/releases/manifest-diff.ts'
import { pluralOf } from '../../../core/packages/releases/api-paths.ts'
import { countByKind, labelOf, objectsOf, type ManifestObject } from '../../../core/packages/releases/kubernetes-objects.ts'
import { redactAll, redactSecrets } from '../../../core/kernel/redaction.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts, textDiff } from '../texts.ts'

/** What a person is shown of a change, and what never is. */
const objects = async (text: string): Promise<readonly ManifestObject[]> => unwrap(await objectsOf(chartTexts, text))
const compare = async (from: string, to: string): Promise<ManifestDiff> => diffManifests({ chartTexts, textDiff }, await objects(from), await objects(to), { home: 'shop', redact: (text) => text })

const configMap = (name: string, value: string, more = ''): string => `---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}data:\n  value: ${value}\n`
const keep = '  annotations:\n    helm.sh/resource-policy: keep\n'
const secret = (name: string, field: string, values: Record<string, string>): string =>
  `---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\n${field}:\n${Object.entries(values).map(([key, value]) => `  ${key}: ${value}\n`).join('')}`

test('objects are added, changed, removed, kept and left alone', async (t) => {
  const from = configMap('same', 'a') + configMap('changed', 'old') + configMap('gone', 'x') + configMap('stays', 'x', keep)
  const to = configMap('same', 'a') + configMap('changed', 'new') + configMap('fresh', 'z')
  const diff = await compare(from, to)
  t.deepEqual(diff.objects.map(({ object, change }) => `${object} ${change}`), ['ConfigMap changed changed', 'ConfigMap fresh added', 'ConfigMap gone removed', 'ConfigMap stays kept'])
  t.is(describeDiff(diff), '1 added, 1 changed, 1 removed, 1 kept by policy, 1 unchanged')
  t.regex(diff.objects[0]?.diff ?? '', /^@@[^]*\n- {2}value: old\n\+ {2}value: new\n$/)
  t.regex(diff.objects[1]?.diff ?? '', /\n\+ {2}value: z\n/)
  t.regex(diff.objects[2]?.diff ?? '', /\n- {2}value: x\n/)
  t.is(diff.objects[3]?.diff, '')
})

test('an object is the same one under a newer version of its API, and another one elsewhere', async (t) => {
  const at = (apiVersion: string, namespace: string): string => `---\napiVersion: ${apiVersion}\nkind: Widget\nmetadata:\n  name: w\n  namespace: ${namespace}\n`
  t.is(describeDiff(await compare(at('x.example/v1', 'shop'), at('x.example/v2', 'shop'))), '0 added, 1 changed, 0 removed, 0 kept by policy, 0 unchanged')
  t.is(describeDiff(await compare(at('x.example/v1', 'shop'), at('x.example/v1', 'other'))), '1 added, 0 changed, 1 removed, 0 kept by policy, 0 unchanged')
})

for (const field of ['data', 'stringData']) {
  test(`the ${field} of a Secret is never shown, only which keys differ`, async (t) => {
    const diff = await compare(secret('s', field, { same: 'sesame-one', other: 'sesame-two', gone: 'sesame-three' }), secret('s', field, { same: 'sesame-one', other: 'sesame-four', fresh: 'sesame-five' }))
    const text = JSON.stringify(diff)
    t.false(text.includes('sesame'))
    t.regex(diff.objects[0]?.diff ?? '', / same: \(hidden\)\n/)
    t.regex(diff.objects[0]?.diff ?? '', /- {2}other: \(hidden, old\)\n/)
    t.regex(diff.objects[0]?.diff ?? '', /\+ {2}other: \(hidden, new\)\n/)
    for (const [from, to] of [['', secret('s', field, { a: 'sesame' })], [secret('s', field, { a: 'sesame' }), '']] as const) t.false(JSON.stringify(await compare(from, to)).includes('sesame'))
  })
}

test('what is long is cut, and said to be', async (t) => {
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

test('lists are taken apart, kinds are counted, and paths are guessed as clusters form them', async (t) => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Service, metadata: {name: b, namespace: far}}\n`
  t.deepEqual((await objects(list)).map((object) => labelOf(object, 'shop')), ['ConfigMap a', 'Service far/b'])
  t.is(countByKind(await objects(list)).text, 'ConfigMap 1, Service 1')
  t.deepEqual(['Ingress', 'NetworkPolicy', 'Deployment', 'Endpoints', 'StorageClass', 'Gateway'].map(pluralOf), ['ingresses', 'networkpolicies', 'deployments', 'endpoints', 'storageclasses', 'gateways'])
})

const name = fc.constantFrom('a', 'b', 'c', 'd')
const manifest = fc.uniqueArray(fc.tuple(name, fc.constantFrom('1', '2', '3')), { selector: ([each]) => each }).map((entries) => entries.map(([each, value]) => configMap(each, `"${value}"`)).join(''))

test('a comparison with itself is empty, and one the other way round is its mirror', async (t) => {
  await fc.assert(
    fc.asyncProperty(manifest, manifest, async (from, to) => {
      const self = await compare(from, from)
      t.is(self.added + self.changed + self.removed + self.objects.length, 0)
      const [there, back] = [await compare(from, to), await compare(to, from)]
      t.deepEqual([there.added, there.removed, there.changed, there.unchanged], [back.removed, back.added, back.changed, back.unchanged])
    }),
  )
})

test('values are taken out of words that others wrote, also in pieces and in JSON', (t) => {
  const values = { image: 'registry.example.com/web:1', auth: { user: 'harbour', password: 'quiet "lantern"', pin: 123456 }, text: 'line one of it\nline two of it' }
  const all = redactAll(values)
  t.is(all('failed at quiet "lantern" and 123456 near registry.example.com/web:1'), 'failed at *** and *** near ***')
  t.is(all('json: quiet \\"lantern\\"'), 'json: ***')
  t.is(all('  line two of it: bad'), '  ***: bad')
  const secrets = redactSecrets(values)
  t.is(secrets('pulling registry.example.com/web:1 as harbour, quiet "lantern"'), 'pulling registry.example.com/web:1 as ***, ***')
})

test('no text of six characters or more survives', (t) => {
  const words = fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ minLength: 6, maxLength: 12 }).filter((text) => text.trim().length >= 6 && !text.includes('*')))
  fc.assert(
    fc.property(words, fc.string({ maxLength: 10 }), (values, around) => {
      const redact = redactAll(values)
      for (const text of Object.values(values)) t.false(redact(`${around}${text}${around}`).includes(text))
    }),
  )
})
