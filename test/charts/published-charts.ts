import { chartArchive, chartYaml } from '../support/charts/archive.ts'

/** A chart made as published charts are, with what a user gives. */
export interface PublishedChart {
  readonly archive: Uint8Array
  /** YAML. */
  readonly values: string
}

type Files = Readonly<Record<string, string | Uint8Array>>

/** The files of a subchart below those of its parent. */
const below = (name: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`charts/${name}/${path}`, content]))

const helpers = `{{- define "web.name" -}}{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}{{- end }}
{{- define "web.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "web.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
`
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ include "web.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "web.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas | default 1 }}
  selector:
    matchLabels: {app: {{ include "web.name" . }}}
  template:
    metadata:
      annotations:
        checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
      labels: {app: {{ include "web.name" . }}}
    spec:
      containers:
        - name: main
          image: "{{ .Values.image.name }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          {{- with .Values.resources }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
`
const config = (data: string, name = '{{ .Release.Name }}-{{ .Chart.Name }}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "${name}"}\ndata:\n  told: ${data}\n`
const told = config('{{ toJson .Values | quote }}')
const bare = (name: string, yaml = '', values = 'port: 80\n'): Files => ({
  'Chart.yaml': chartYaml(name, yaml),
  'values.yaml': values,
  'templates/config.yaml': told,
})
const web = (yaml = '', values = 'replicas: 2\nimage: {name: nginx}\nresources: {limits: {cpu: 100m}}\n'): Files => ({
  ...bare('web', `appVersion: "1.29"\n${yaml}`, values),
  'templates/_helpers.tpl': helpers,
  'templates/deployment.yaml': deployment,
})

const withSchema = (schema: object): Files => ({ ...web(), 'values.schema.json': JSON.stringify(schema) })
const replicas = { replicas: { type: 'integer', minimum: 1 } }
const ownId = 'https://example.com/charts/web/values.json'

/** As subcharts of the best-known catalogue: helpers for all charts, and a schema of the dialect without a version. */
const common: Files = {
  'Chart.yaml': chartYaml('common', 'type: library\n', '2.31.0'),
  'values.yaml': 'exampleValue: common-chart\n',
  'templates/_names.tpl': '{{- define "common.name" -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end }}\n',
}

const hook = (name: string, annotations: string): string =>
  `apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ${name}\n  annotations:\n${annotations
    .split(', ')
    .map((each) => `    helm.sh/${each}\n`)
    .join('')}spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}}}\n`

const definition = (kind: string): string =>
  `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${kind.toLowerCase()}s.example.com}\n` +
  `spec:\n  group: example.com\n  names: {kind: ${kind}, plural: ${kind.toLowerCase()}s}\n  scope: Namespaced\n` +
  '  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n'

const dependencies = (...entries: readonly string[]): string =>
  `dependencies:\n${entries.map((entry) => `- {${entry}}\n`).join('')}`

const manyFiles = Object.fromEntries(
  Array.from({ length: 366 }, (_, index) => [`dashboards/d${index}.json`, JSON.stringify({ title: `d${index}` })]),
)

type Shape = readonly [files: Files, values?: string]

const schemas: Readonly<Record<string, Shape>> = {
  'a schema of the dialect without a version, with a library': [
    {
      ...withSchema({ $schema: 'http://json-schema.org/schema#', type: 'object', properties: replicas }),
      'Chart.yaml': chartYaml(
        'web',
        dependencies('name: common, version: 2.x.x, repository: "oci://example.com/charts"'),
      ),
      ...below('common', common),
    },
    'replicas: 3\n',
  ],
  'a schema of draft-04': [
    withSchema({
      $schema: 'http://json-schema.org/draft-04/schema#',
      id: ownId,
      properties: { replicas: { type: 'integer', minimum: 0, exclusiveMinimum: true } },
    }),
  ],
  'a schema of draft-06': [
    withSchema({
      $schema: 'http://json-schema.org/draft-06/schema#',
      properties: { image: { propertyNames: { maxLength: 9 } } },
    }),
  ],
  'a schema of draft-07 whose root is a reference': [
    withSchema({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $ref: '#/definitions/Values',
      definitions: {
        Values: { type: 'object', properties: replicas, if: { required: ['x'] }, then: { required: ['y'] } },
      },
    }),
  ],
  'a schema of 2019-09': [
    withSchema({
      $schema: 'https://json-schema.org/draft/2019-09/schema',
      properties: replicas,
      $recursiveAnchor: true,
    }),
  ],
  'a schema of 2020-12 with bundled parts': [
    withSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: ownId,
      $defs: {
        count: { $id: 'https://example.com/parts/count', type: 'integer' },
        port: { $anchor: 'port', type: 'integer' },
      },
      properties: { replicas: { $ref: 'https://example.com/parts/count' }, port: { $ref: '#port' } },
    }),
  ],
  'a schema without a dialect': [withSchema({ type: 'object', properties: replicas, required: ['image'] })],
  'a schema with references to its own address': [
    withSchema({
      $id: ownId,
      definitions: { count: { type: 'integer' } },
      properties: { replicas: { $ref: `${ownId}#/definitions/count` } },
    }),
  ],
  'a schema with a relative identifier': [
    withSchema({
      $id: 'values.json',
      $defs: replicas,
      properties: { replicas: { $ref: 'values.json#/$defs/replicas' } },
    }),
  ],
  'a schema with a part of the metaschema': [
    withSchema({
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { replicas: { $ref: 'http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger' } },
    }),
  ],
  'a schema with references in data': [
    withSchema({
      properties: { replicas: { ...replicas.replicas, default: { $ref: ownId }, enum: [2, { $schema: ownId }] } },
    }),
  ],
  'a disabled subchart whose schema is elsewhere': [
    {
      ...bare('web', dependencies('name: db, version: "*", condition: db.enabled'), 'db: {enabled: false}\n'),
      ...below('db', { ...bare('db'), 'values.schema.json': `{"$ref":"${ownId}"}` }),
    },
  ],
}

const trees: Readonly<Record<string, Shape>> = {
  'one subchart under two aliases': [
    {
      ...bare('web', dependencies('name: db, version: 1.x, alias: main', 'name: db, version: 1.x, alias: replica')),
      ...below('db', bare('db')),
    },
    'main: {port: 5432}\nreplica: {port: 5433}\n',
  ],
  'subcharts by conditions and tags': [
    {
      ...bare(
        'web',
        dependencies(
          'name: a, version: 1.x, condition: "a.enabled,global.a"',
          'name: b, version: 1.x, tags: [back]',
          'name: c, version: 1.x, condition: c.on, tags: [back]',
        ),
        'a: {enabled: true}\ntags: {back: false}\nc: {on: true}\n',
      ),
      ...below('a', bare('a')),
      ...below('b', bare('b')),
      ...below('c', bare('c')),
    },
  ],
  'imported values': [
    {
      ...bare(
        'web',
        'dependencies:\n- name: lib\n  version: 1.x\n  import-values: [data, {child: deep.inner, parent: taken}]\n',
      ),
      ...below('lib', bare('lib', '', 'exports: {data: {shared: 1}}\ndeep: {inner: {x: y}}\n')),
    },
  ],
  'three levels with global values': [
    {
      ...bare('web', '', 'global: {zone: a}\nmid: {low: {port: 1}}\n'),
      ...below('mid', { ...bare('mid', '', 'global: {zone: b, host: mid}\n'), ...below('low', bare('low')) }),
    },
    'global: {region: north}\n',
  ],
  'a library chart': [
    {
      ...bare('web', dependencies('name: common, version: ~2.31')),
      ...below('common', common),
      'templates/named.yaml': config('x', '{{ include "common.name" . }}-named'),
    },
  ],
  'undeclared subcharts and removed defaults': [
    { ...bare('web', '', 'a: {b: 1, c: 2}\n'), ...below('db', bare('db', '', 'port: 1\ntls: {on: true}\n')) },
    'a: {b: null}\ndb: {tls: null}\n',
  ],
  'requirements of apiVersion v1': [
    {
      ...bare('web'),
      'Chart.yaml': 'apiVersion: v1\nname: web\nversion: 1.0.0\n',
      'requirements.yaml': dependencies('name: db, version: 1.x, condition: db.enabled'),
      ...below('db', bare('db')),
    },
  ],
}

const contents: Readonly<Record<string, Shape>> = {
  'helpers, checksums and resources': [web(), 'nameOverride: harbour\nimage: {tag: "7"}\n'],
  'hooks with weights and policies': [
    {
      ...web(),
      'templates/before.yaml': hook('before', 'hook: "pre-install,pre-upgrade", hook-weight: "-5"'),
      'templates/after.yaml': hook('after', 'hook: post-install, hook-delete-policy: before-hook-creation'),
      'templates/tests/connect.yaml': hook('connect', 'hook: test'),
    },
  ],
  'definitions of two releases and an object of one': [
    {
      ...bare('web'),
      'crds/quays.yaml': definition('Quay'),
      'crds/more/piers.yaml': `${definition('Pier')}---\n${definition('Dock')}`,
      'templates/quay.yaml': 'apiVersion: example.com/v1\nkind: Quay\nmetadata: {name: north}\n',
    },
  ],
  'an existing secret that is looked up': [
    {
      ...bare('web'),
      'templates/secret.yaml':
        '{{- $old := lookup "v1" "Secret" .Release.Namespace "tide" }}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: tide\n' +
        '  annotations: {helm.sh/resource-policy: keep}\ndata:\n  password: {{ if $old }}{{ $old.data.password }}{{ else }}{{ "first" | b64enc }}{{ end }}\n',
    },
  ],
  '370 files': [
    {
      ...bare('web'),
      ...manyFiles,
      'templates/dashboards.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dashboards}\ndata: {{- (.Files.Glob "dashboards/*.json").AsConfig | nindent 2 }}\n',
    },
  ],
  'binary files and lines of files': [
    {
      ...bare('web'),
      'files/logo.png': Uint8Array.from({ length: 256 }, (_, index) => index),
      'files/hosts': 'a\nb\n',
      'templates/files.yaml':
        config('{{ .Files.Get "files/logo.png" | b64enc }}', 'logo') +
        '{{- range .Files.Lines "files/hosts" }}{{ if . }}\n---\n' +
        config('{{ . | quote }}', 'host-{{ . }}') +
        '{{ end }}{{- end }}\n',
    },
  ],
  'templates in values': [
    { ...bare('web'), 'templates/tpl.yaml': config('{{ tpl .Values.text . | quote }}', 'tpl') },
    'text: "{{ .Release.Name }}!"\n',
  ],
  'versions of the cluster': [
    {
      ...bare('web', 'kubeVersion: ">=1.20.0-0"\n'),
      'templates/capable.yaml': config(
        '"{{ semverCompare ">=1.21-0" .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has "policy/v1" }}"',
        'capable',
      ),
    },
  ],
  'several documents, comments and separators in text': [
    {
      ...bare('web'),
      'templates/many.yaml': `# only a comment\n---\n---\n${config('|\n    a\n    --- b', 'one')}--- # two\n${config('""', 'two')}\n---\n`,
      'templates/list.yaml': `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: s}}\n`,
    },
  ],
  'other letters, byte order marks and line ends of Windows': [
    { ...bare('web', 'description: Füße 港\n'), 'values.yaml': '\ufeffname: "Füße 港"\r\nlist:\r\n- "☃"\r\n' },
    'more: "Ωmega"\n',
  ],
  'notes of charts and subcharts': [
    {
      ...bare('web'),
      'templates/NOTES.txt': 'Run {{ .Release.Name }}\n---\nkind: no\n',
      ...below('db', { ...bare('db'), 'templates/NOTES.txt': 'db\n' }),
    },
  ],
  'numbers of every notation': [
    {
      ...bare('web'),
      'values.yaml': 'big: 9007199254740993\nmany: 12345678\nhalf: 0.5\nexp: 1e3\noctal: 0644\ntext: "007"\nyes: yes\n',
    },
    'size: 10485760\n',
  ],
  'ignored files': [
    { ...bare('web'), '.helmignore': '*.bak\nignored/\n', 'templates/old.yaml.bak': 'a: b', 'ignored/x': '1' },
  ],
  'a deprecated chart with annotations and a lock': [
    {
      ...bare(
        'web',
        `deprecated: true\nannotations: {category: Database}\nhome: https://example.com\n${dependencies('name: db, version: ^1.0.0')}`,
      ),
      'Chart.lock':
        'dependencies:\n- {name: db, version: 1.0.0, repository: https://example.com}\ndigest: sha256:0\ngenerated: "2026-01-01T00:00:00Z"\n',
      ...below('db', bare('db')),
    },
  ],
  'a value that is required': [
    { ...bare('web'), 'templates/need.yaml': '{{ required "Set the host." .Values.host }}\n' },
  ],
}

/** A subchart as an archive in `charts/`, as `helm dependency update` leaves it. */
const packedSubchart = async (): Promise<Shape> => [
  {
    ...bare('web', dependencies('name: db, version: 1.0.0, repository: "https://example.com", condition: db.enabled')),
    'charts/db-1.0.0.tgz': await chartArchive(
      { ...bare('db'), 'values.schema.json': '{"$schema":"http://json-schema.org/schema#"}' },
      'db',
    ),
  },
  'db: {port: 2}\n',
]

/** Charts with the features of published ones, by what they show. */
export const publishedCharts = async (): Promise<ReadonlyMap<string, PublishedChart>> => {
  const shapes = { ...schemas, ...trees, ...contents, 'a packed subchart with a schema': await packedSubchart() }
  return new Map(
    await Promise.all(
      Object.entries(shapes).map(
        async ([title, [files, values = '{}\n']]) => [title, { archive: await chartArchive(files), values }] as const,
      ),
    ),
  )
}
