import fc from 'fast-check'
import { goString } from '../../../adapters/helm/records/record-members.ts'
import { pack } from '../../../adapters/helm/records/record-payload.ts'
import {
  releaseStatuses,
  type ReleaseRecordRef,
  type ReleaseStatus,
  type StorageDriver,
} from '../../../core/packages/types.ts'
import type { KubeObject } from '../../support/fake-api/kube-object.ts'

/** A value as Go's JSON encoder writes it, maps by key. */
export const goJson = (value: unknown): string => {
  if (typeof value === 'string') return goString(value)
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`
  if (typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? value.toString() : JSON.stringify(value)
  return `{${Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${goString(key)}:${goJson(item)}`)
    .join(',')}}`
}

export interface RecordOf {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly status?: ReleaseStatus
  readonly lastDeployed?: string
  readonly description?: string
  readonly notes?: string
  readonly manifest?: string
  readonly values?: object
  readonly config?: object
}

/** A release as Helm 3 has it, keys in the order of its structs. */
export const releaseJson = ({
  name,
  namespace,
  version,
  status = 'deployed',
  lastDeployed = '2026-05-12T09:30:00.123456789Z',
  ...more
}: RecordOf): object => ({
  name,
  info: {
    first_deployed: '2026-05-01T08:00:00.5Z',
    last_deployed: lastDeployed,
    deleted: '',
    description: more.description ?? `Release of ${name}`,
    status,
    ...(more.notes === undefined ? {} : { notes: more.notes }),
  },
  chart: {
    metadata: {
      name,
      version: `1.${version}.0`,
      description: 'A <small> chart & more',
      apiVersion: 'v2',
      appVersion: '2.1',
    },
    lock: null,
    templates: [{ name: 'templates/service.yaml', data: Buffer.from('kind: Service\n').toString('base64') }],
    values: more.values ?? { replicas: 1 },
    schema: null,
    files: [{ name: 'README.md', data: 'aGVsbG8=' }],
  },
  ...(more.config === undefined ? {} : { config: more.config }),
  manifest: more.manifest ?? `---\n# Source: ${name}/templates/service.yaml\nkind: Service\n`,
  version,
  namespace,
})

/** The object that holds a record; `json` replaces the record's text. */
export const recordObject = async (
  driver: StorageDriver,
  record: RecordOf,
  json: string = goJson(releaseJson(record)),
): Promise<KubeObject> => {
  const { name, namespace, version, status = 'deployed' } = record
  return {
    apiVersion: 'v1',
    kind: driver,
    ...(driver === 'Secret' ? { type: 'helm.sh/release.v1' } : {}),
    metadata: {
      name: `sh.helm.release.v1.${name}.v${version}`,
      namespace,
      labels: { name, owner: 'helm', status, version: String(version), modifiedAt: '1777622400' },
    },
    data: { release: await pack(driver, json) },
  } as KubeObject
}

/** What a store could have said of the record. */
export const refOfRecord = ({ name, namespace, version, status = 'deployed' }: RecordOf): ReleaseRecordRef => ({
  name,
  namespace,
  version,
  status,
  objectName: `sh.helm.release.v1.${name}.v${version}`,
  uid: `${namespace}/${name}/${version}`,
  resourceVersion: '1',
})

/** Few names, so that releases have histories and share names across namespaces. */
const someRecord: fc.Arbitrary<RecordOf> = fc.record({
  name: fc.constantFrom('web', 'api', 'web-2', 'cache', 'a.b'),
  namespace: fc.constantFrom('shop', 'blog', 'ops'),
  version: fc.integer({ min: 1, max: 5 }),
  status: fc.constantFrom(...releaseStatuses),
  lastDeployed: fc.integer({ min: 0, max: 9 }).map((second) => `2026-05-12T09:30:0${second}.${second}Z`),
})

/** Each revision at most once. */
export const someRecords: fc.Arbitrary<readonly RecordOf[]> = fc.uniqueArray(someRecord, {
  maxLength: 40,
  selector: ({ namespace, name, version }) => `${namespace}/${name}/${version}`,
})

/** Records by namespace, name and version. */
export const keys = (
  refs: readonly { readonly namespace: string; readonly name: string; readonly version: number }[],
): readonly string[] => refs.map(({ namespace, name, version }) => `${namespace}/${name}/${version}`)

/** The only item. Throws if there is another number of them. */
export const only = <A>(items: readonly A[]): A => {
  const [first] = items
  if (first === undefined || items.length !== 1) throw new Error(`${items.length} instead of one`)
  return first
}
