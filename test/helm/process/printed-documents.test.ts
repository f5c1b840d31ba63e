import test from 'ava'
import fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { capabilitiesOf } from '../../../adapters/helm/process/arguments.ts'
import { readReleaseOutput, readTemplateOutput } from '../../../adapters/helm/process/helm-output.ts'
import type { ClusterAnswer, MemberCluster } from '../../../core/clusters/ports.ts'
import { chartTexts } from '../../packages/texts.ts'

const document = (name: string, annotations = ''): string =>
  `# Source: c/templates/${name}.yaml\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${annotations}`
const hookOf = (name: string, events: string, more = ''): string =>
  document(name, `  annotations:\n    "helm.sh/hook": ${events}\n${more}`)

test('documents keep order, text and source, with hooks apart', async (t) => {
  const output = `\n---\n${document('a')}---\n${hookOf('b', 'pre-install,test-success', '    helm.sh/hook-weight: "-5"\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook-creation\n')}---\n${document('c')}`
  const { manifest, hooks, notes, release } = await readTemplateOutput(chartTexts, output)
  t.is(manifest, `---\n${document('a')}---\n${document('c')}`)
  t.deepEqual(hooks, [
    {
      name: 'b',
      kind: 'ConfigMap',
      path: 'c/templates/b.yaml',
      manifest: hookOf(
        'b',
        'pre-install,test-success',
        '    helm.sh/hook-weight: "-5"\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook-creation\n',
      )
        .split('\n')
        .slice(1)
        .join('\n')
        .trimEnd(),
      events: ['pre-install', 'test'],
      weight: -5,
      delete_policies: ['hook-succeeded', 'before-hook-creation'],
    },
  ])
  t.is(notes, '')
  t.is(release, undefined)
})

test('a document that only speaks of hooks, or cannot be read, is none', async (t) => {
  const odd = [
    `# Source: x\nkind: ConfigMap\ndata: { a: "helm.sh/hook: pre-install" }`,
    `# Source: y\nhelm.sh/hook: [`,
    `# Source: z\nmetadata: { annotations: { helm.sh/hook: 5 } }`,
    `# Source: w\nmetadata: { annotations: [helm.sh/hook] }`,
    '# helm.sh/hook',
  ]
  const { manifest, hooks } = await readTemplateOutput(chartTexts, odd.map((text) => `---\n${text}\n`).join(''))
  t.deepEqual(hooks, [])
  for (const text of odd) t.true(manifest.includes(text))
})

test('a text of dashes inside a document does not divide it', async (t) => {
  const block =
    '# Source: pem\nkind: Secret\nstringData:\n  key: |\n    -----BEGIN KEY-----\n    ---\n    -----END KEY-----'
  t.is((await readTemplateOutput(chartTexts, `---\n${block}\n`)).manifest, `---\n${block}\n`)
})

test('nothing that is printed breaks the reading', async (t) => {
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.constantFrom('---\n', 'helm.sh/hook', '\n', 'annotations:', '&a [*a]', '{"a":', '!!binary'),
          ),
        ),
        async (parts) => {
          const { manifest, hooks } = await readTemplateOutput(chartTexts, parts.join(''))
          const read = await readReleaseOutput(chartTexts, Buffer.from(parts.join('')))
          return (
            typeof manifest === 'string' && Array.isArray(hooks) && (read === undefined || read.release !== undefined)
          )
        },
      ),
    ),
  )
})

test('a record is read after any other output, and only a record', async (t) => {
  const record = {
    name: 'a',
    namespace: 'n',
    version: 2,
    info: { status: 'deployed', notes: 'hi' },
    manifest: 'm',
    hooks: [{ name: 'h' }],
    chart: { files: ['large'] },
  }
  const read = await readReleaseOutput(chartTexts, Buffer.from(`warning\n${JSON.stringify(record)}\n`))
  t.like(read, { manifest: 'm', notes: 'hi', hooks: [{ name: 'h' }], release: { version: 2 } })
  t.false('chart' in (read?.release ?? {}))
  for (const text of ['', 'null', '{}', '{"name":1}', '{"name":"a","version":"1"}', 'Rollback was a success!'])
    t.is(await readReleaseOutput(chartTexts, Buffer.from(text)), undefined, text)
})

test('an oversized text is not searched for hooks', async (t) => {
  const long = hookOf('long', 'pre-install', `data:\n  a: ${'x'.repeat(1024 * 1024)}\n`)
  const { manifest, hooks } = await readTemplateOutput(chartTexts, `---\n${long}---\n${hookOf('short', 'pre-install')}`)
  t.deepEqual(
    hooks.map(({ name }) => name),
    ['short'],
  )
  t.true(manifest.includes('name: long'))
  const many = Array.from(
    { length: 10 },
    (_, index) => `---\n${hookOf(`h${index}`, 'pre-install', `data:\n  a: ${'x'.repeat(900 * 1024)}\n`)}`,
  ).join('')
  t.is((await readTemplateOutput(chartTexts, many)).hooks.length, 4)
})

const answering = (version: unknown, core: unknown, groups: unknown): MemberCluster => {
  const answers: Readonly<Record<string, unknown>> = { '/version': version, '/api': core, '/apis': groups }
  return {
    request: ({ target }: { target: string }) =>
      Promise.resolve(right({ status: 200, json: answers[target] } as unknown as ClusterAnswer)),
  } as unknown as MemberCluster
}
const ask = (version: unknown, core: unknown, groups: unknown) =>
  capabilitiesOf(answering(version, core, groups), new AbortController().signal)

const deployments = {
  metadata: { name: 'apps' },
  versions: [{ version: 'v1', resources: [{ responseKind: { kind: 'Deployment' } }] }],
}

test('version and kinds are read from the discovery of a cluster', async (t) => {
  const core = {
    items: [
      { metadata: { name: '' }, versions: [{ version: 'v1', resources: [{ responseKind: { kind: 'Pod' } }, {}] }] },
    ],
  }
  t.deepEqual(await ask({ gitVersion: 'v1.34.2' }, core, { items: [deployments] }), {
    kubeVersion: 'v1.34.2',
    apiVersions: ['v1', 'v1/Pod', 'apps/v1', 'apps/v1/Deployment'],
  })
})

test('misshapen documents are skipped', async (t) => {
  t.deepEqual(
    (
      await ask(
        { gitVersion: 'v1.34.2' },
        { items: {} },
        { items: [null, { versions: 3 }, { versions: [null, {}, { version: 1 }] }, deployments] },
      )
    )?.apiVersions,
    ['apps/v1', 'apps/v1/Deployment'],
  )
  t.is(await ask(null, {}, {}), undefined)
  t.is(await ask({ gitVersion: 1 }, {}, {}), undefined)
})

const broken = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    fc.record({ items: tie('list') }),
    fc.record({ metadata: fc.jsonValue(), versions: tie('list') }, { requiredKeys: [] }),
    fc.record({ version: fc.jsonValue(), resources: tie('list') }, { requiredKeys: [] }),
    fc.record({ responseKind: fc.jsonValue() }),
  ),
  list: fc.oneof(fc.array(tie('node'), { maxLength: 3 }), tie('node')),
})).node

test('no answer of a cluster makes it throw', async (t) => {
  await t.notThrowsAsync(() =>
    fc.assert(
      fc.asyncProperty(broken, broken, async (core, groups) => {
        const read = await ask({ gitVersion: 'v1.34.2' }, core, groups)
        return read?.apiVersions.every((each) => typeof each === 'string') === true
      }),
    ),
  )
})
