import { managedClusters, signingRequests, type CertificateSigningRequest } from '../api/kinds.ts'
import { makeKubeClient } from '../api/kube-client.ts'
import { watchObjects } from '../api/watched-objects.ts'
import { makeSigningRequest, type MadeRequest } from './client-certificate-request.ts'
import type { AgentIdentity, AgentFixture } from './spoke-agent.ts'

/**
 * Registers with the bootstrap token, and waits for the certificate. 'An agent that still has a bootstrap kubeconfig
 * re-creates the ManagedCluster' (note §5, remove-managed-cluster): when it starts, and while it waits only with
 * `registersAgain`, since a real one looks again after an hour. A request that is deleted is made again, one that is
 * denied is waited for. 'Ignores a CSR whose name does not begin with `<cluster>-`' (real controllers, 8). Returns
 * `undefined` when the agent ends before it has a certificate.
 */
export const bootstrapAgent = async (fixture: AgentFixture): Promise<AgentIdentity | undefined> => {
  const { cluster, hub, bootstrapToken, serverUrls = [], annotations = {}, signal } = fixture
  const client = makeKubeClient(hub, { token: bootstrapToken })
  const waiting = new AbortController()
  const both = AbortSignal.any([signal, waiting.signal])
  const caBundle = Buffer.from(hub.caPem).toString('base64')
  let made: MadeRequest | undefined
  let registersCluster = true
  const { promise, resolve } = Promise.withResolvers<AgentIdentity | undefined>()
  signal.addEventListener('abort', () => resolve(undefined), { once: true })

  const { add, stop } = fixture.reconciler({
    name: `bootstrap of ${cluster}`,
    reconcile: async () => {
      if (registersCluster && (await client.get(managedClusters, cluster)) === undefined) {
        await client.createIfMissing(managedClusters, {
          metadata: { name: cluster, annotations },
          spec:
            serverUrls.length === 0
              ? {}
              : { managedClusterClientConfigs: serverUrls.map((url) => ({ url, caBundle })) },
        })
      }
      registersCluster = fixture.registersAgain === true
      if (made !== undefined && (await client.get(signingRequests, made.object.metadata.name)) !== undefined) return
      made = await makeSigningRequest(cluster, fixture.agentName)
      await client.create(signingRequests, made.object)
      watchRequest(made)
    },
  })
  const watchRequest = ({ object, keyPem }: MadeRequest): void => {
    watchObjects<CertificateSigningRequest>(client, signingRequests, {
      selection: { fieldSelector: `metadata.name=${object.metadata.name}` },
      onChange: ({ status }, isGone) => {
        if (isGone) add(cluster)
        else if (status?.certificate !== undefined && object.metadata.name.startsWith(`${cluster}-`))
          resolve({ certificatePem: Buffer.from(status.certificate, 'base64').toString(), keyPem })
      },
      signal: both,
    })
  }
  if (fixture.registersAgain === true) {
    watchObjects(client, managedClusters, {
      selection: { fieldSelector: `metadata.name=${cluster}` },
      onChange: (_object, isGone) => {
        if (isGone) add(cluster)
      },
      signal: both,
    })
  }
  add(cluster)
  const identity = await promise
  waiting.abort()
  await stop()
  await client.close()
  return identity
}
