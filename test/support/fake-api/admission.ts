import { randomBytes } from 'node:crypto'
import { apiVersionOf, type ResourceKind } from './kinds.ts'
import { isTree, type KubeObject, type Tree } from './kube-object.ts'
import { StatusError } from './status-answer.ts'

const maximumDataBytes = 1024 * 1024
const validName = /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/
let addresses = 0

const invalid = (kind: ResourceKind, name: string, what: string): StatusError =>
  new StatusError(
    422,
    'Invalid',
    `${kind.kind}${kind.group === '' ? '' : `.${kind.group}`} "${name}" is invalid: ${what}`,
  )

/** What the server fills in and refuses, as far as clients notice. */
export const admit = (kind: ResourceKind, namespace: string | undefined, wanted: KubeObject): KubeObject => {
  const { generateName, ...metadata } = wanted.metadata
  const name =
    metadata.name === '' || metadata.name === undefined
      ? `${generateName ?? ''}${generateName === undefined ? '' : randomBytes(3).toString('hex').slice(0, 5)}`
      : metadata.name
  if (name === '') throw invalid(kind, '', 'metadata.name: Required value: name or generateName is required')
  if (name.length > 253 || !validName.test(name))
    throw invalid(
      kind,
      name,
      `metadata.name: Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'`,
    )
  if (
    kind.isNamespaced &&
    metadata.namespace !== undefined &&
    metadata.namespace !== '' &&
    metadata.namespace !== namespace
  ) {
    throw new StatusError(
      400,
      'BadRequest',
      `the namespace of the provided object does not match the namespace sent on the request`,
    )
  }
  const object = {
    ...wanted,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...metadata, name, ...(kind.isNamespaced && namespace !== undefined ? { namespace } : {}) },
  }
  return defaulters[kind.kind]?.(kind, object) ?? object
}

type Default = (kind: ResourceKind, object: KubeObject) => KubeObject

const checkSize = (kind: ResourceKind, object: KubeObject): void => {
  const bytes = Object.values(object.data ?? {}).reduce(
    (sum, value) => sum + Buffer.from(value, kind.kind === 'Secret' ? 'base64' : 'utf8').length,
    0,
  )
  if (bytes > maximumDataBytes)
    throw invalid(kind, object.metadata.name, `data: Too long: may not be more than ${maximumDataBytes} bytes`)
}

const defaulters: Readonly<Record<string, Default>> = {
  Namespace: (_kind, object) => ({ ...object, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }),
  Secret: (kind, object) => {
    const { stringData, ...rest } = object
    const texts = isTree(stringData)
      ? Object.entries(stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')])
      : []
    const secret = {
      ...rest,
      type: rest['type'] ?? 'Opaque',
      data: { ...rest.data, ...Object.fromEntries(texts) },
    } as KubeObject
    checkSize(kind, secret)
    return secret
  },
  ConfigMap: (kind, object) => {
    checkSize(kind, object)
    return object
  },
  Service: (_kind, object) => {
    const address = `10.0.${Math.floor((addresses += 1) / 250)}.${(addresses % 250) + 1}`
    const isPublic = object.spec?.['type'] === 'LoadBalancer'
    return {
      ...object,
      spec: { type: 'ClusterIP', clusterIP: address, clusterIPs: [address], ...object.spec },
      status: { loadBalancer: isPublic ? { ingress: [{ ip: '192.0.2.10' }] } : {} },
    }
  },
  Deployment: (_kind, object) =>
    withSpec(object, {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    }),
  StatefulSet: (_kind, object) =>
    withSpec(object, {
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    }),
  DaemonSet: (_kind, object) =>
    withSpec(object, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } }),
  Job: (_kind, object) => withSpec(object, { completions: 1, parallelism: 1, backoffLimit: 6 }),
  Pod: (_kind, object) => withSpec(object, { restartPolicy: 'Always' }),
  CustomResourceDefinition: (_kind, object) => ({
    ...object,
    status: {
      acceptedNames: object.spec?.['names'],
      conditions: ['NamesAccepted', 'Established'].map((type) => ({
        type,
        status: 'True',
        reason: type,
        message: type,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
      storedVersions: [],
    },
  }),
}

const withSpec = (object: KubeObject, defaults: Tree): KubeObject => ({
  ...object,
  spec: { ...defaults, ...object.spec },
})
