import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { makeServerCertificate } from '../../server-certificate.ts'
import type { Kind, KubeObject, ManagedCluster, ManagedClusterSetBinding } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { defaultSetPatch, judgeBinding, judgeCluster, type AdmissionRequest, type Refused } from './admission-rules.ts'

export interface WebhookOptions {
  readonly client: KubeClient
  /** Objects whose names (for bindings: whose sets' names) do not start with it are not asked about. */
  readonly prefix: string
  /** The checks of OCM: rights to accept, join and bind. */
  readonly validates: boolean
  /** The gate DefaultClusterSet: the set of clusters without another one; undefined if it is off. */
  readonly defaultSet: string | undefined
}

interface Configuration extends KubeObject {
  readonly webhooks: readonly object[]
}
const configurationOf = (kind: string): Kind<Configuration> => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  isNamespaced: false,
})
const validating = configurationOf('ValidatingWebhookConfiguration')
const mutating = configurationOf('MutatingWebhookConfiguration')

/**
 * 'OCM webhooks: ... optional in-process webhook' (note §12). Returns how to end it; it answers from the moment this
 * resolves.
 */
export const startWebhooks = async ({
  client,
  prefix,
  validates,
  defaultSet,
}: WebhookOptions): Promise<() => Promise<void>> => {
  const { certificatePem, keyPem } = await makeServerCertificate('test-hub')
  const server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
    void (async () => {
      const review = (await json(request)) as { readonly request: AdmissionRequest<never> }
      const answer = await answerTo({ client, defaultSet }, request.url ?? '', review.request)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: { uid: review.request.uid, ...answer },
        }),
      )
    })().catch((cause: unknown) => {
      response.writeHead(500)
      response.end(String(cause))
    })
  })
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const webhook = (name: string, path: string, version: string, resource: string, named: string): object => ({
    name: `${name}.cluster.open-cluster-management.io`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    clientConfig: { url: `${url}${path}`, caBundle: Buffer.from(certificatePem).toString('base64') },
    rules: [
      {
        apiGroups: ['cluster.open-cluster-management.io'],
        apiVersions: [version],
        resources: [resource],
        operations: ['CREATE', 'UPDATE'],
      },
    ],
    matchConditions: [{ name: 'names-of-this-hub', expression: `${named}.startsWith(${JSON.stringify(prefix)})` }],
  })
  const metadata = { name: `test-hub-${prefix}webhooks` }
  if (validates) {
    await client.create(validating, {
      metadata,
      webhooks: [
        webhook('managedclustervalidators.admission', '/clusters', 'v1', 'managedclusters', 'object.metadata.name'),
        webhook(
          'managedclustersetbindingvalidators.admission',
          '/bindings',
          'v1beta2',
          'managedclustersetbindings',
          'object.spec.clusterSet',
        ),
      ],
    })
  }
  if (defaultSet !== undefined) {
    await client.create(mutating, {
      metadata,
      webhooks: [
        webhook('managedclustermutators.admission', '/defaults', 'v1', 'managedclusters', 'object.metadata.name'),
      ],
    })
  }
  return async () => {
    await client.remove(validating, { metadata })
    await client.remove(mutating, { metadata })
    server.closeAllConnections()
    await new Promise<void>((go) => server.close(() => go()))
  }
}

const answerTo = async (
  { client, defaultSet = '' }: Pick<WebhookOptions, 'client' | 'defaultSet'>,
  path: string,
  request: AdmissionRequest<never>,
): Promise<object> => {
  // The API server adds `?timeout=`.
  switch (path.split('?')[0]) {
    case '/clusters':
      return verdict(await judgeCluster(client, request as AdmissionRequest<ManagedCluster>))
    case '/bindings':
      return verdict(await judgeBinding(client, request as AdmissionRequest<ManagedClusterSetBinding>))
    default:
      return {
        allowed: true,
        ...patchOf(defaultSetPatch((request as AdmissionRequest<ManagedCluster>).object, defaultSet)),
      }
  }
}

const verdict = (refused: Refused | undefined): object =>
  refused === undefined ? { allowed: true } : { allowed: false, status: { status: 'Failure', ...refused } }

const patchOf = (operations: readonly object[]): object =>
  operations.length === 0
    ? {}
    : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') }
