import { load } from 'js-yaml'
import { startSpokeAgent, type AgentIdentity, type SpokeAgent, type SpokeAgentOptions } from '../agent/spoke-agent.ts'
import { appliedManifestWorks, klusterlets, namespaces, secrets, type Klusterlet, type Secret } from '../api/kinds.ts'
import type { KubeClient, ServerAddress } from '../api/kube-client.ts'
import { addFinalizers, removeFinalizer, reportStatus } from '../api/object-changes.ts'
import { agentNamespace, bootstrapSecret, hubKubeconfigSecret } from '../api/ocm-names.ts'
import { keyOf, watchObjects } from '../api/watched-objects.ts'
import type { HubFixture } from '../controllers/hub-fixture.ts'

const finalizer = 'operator.open-cluster-management.io/klusterlet-cleanup'

export interface KlusterletOperator {
  /** As the admin of the spoke. */
  readonly spoke: KubeClient
  readonly fixture: Pick<HubFixture, 'owns' | 'signal' | 'reconciler'>
  /** What the agents that it starts are like. */
  readonly agentOptions: (cluster: string) => Partial<SpokeAgentOptions>
  readonly onAgent: (agent: SpokeAgent) => void
}

/**
 * 'On spoke apply: ... Secret `bootstrap-hub-kubeconfig` (key `kubeconfig`), `Klusterlet`' (note §5, import-spoke): the
 * operator starts the agents of a Klusterlet when both exist. 'DELETE Klusterlet, wait 404' (note §5,
 * remove-managed-cluster): it ends them, and removes what they have left on the spoke.
 */
export const runKlusterletOperator = ({ spoke, fixture, agentOptions, onAgent }: KlusterletOperator): void => {
  const { owns, signal } = fixture
  const running = new Map<string, SpokeAgent>()
  const end = async (name: string): Promise<void> => {
    await running.get(name)?.stop()
    running.delete(name)
  }
  const { add } = fixture.reconciler({
    name: 'klusterlet',
    reconcile: async (name) => {
      const klusterlet = await spoke.get(klusterlets, name)
      if (klusterlet === undefined) return end(name)
      if (klusterlet.metadata.deletionTimestamp !== undefined) {
        await end(name)
        return cleanUp(spoke, klusterlet)
      }
      const kept = await addFinalizers(spoke, klusterlets, klusterlet, finalizer)
      if (kept === undefined) return
      await spoke.createIfMissing(namespaces, { metadata: { name: namespaceOf(kept) } })
      const bootstrap = await spoke.get(secrets, bootstrapSecret, namespaceOf(kept))
      const known = await spoke.get(secrets, hubKubeconfigSecret, namespaceOf(kept))
      if (!running.has(name) && bootstrap !== undefined) {
        const agent = startSpokeAgent(optionsOf(spoke, kept, bootstrap, known, agentOptions))
        running.set(name, agent)
        onAgent(agent)
      }
      const isConnected = known?.data?.['tls.crt'] !== undefined
      await reportStatus(spoke, klusterlets, kept, [
        { type: 'Applied', status: 'True', reason: 'KlusterletApplied', message: 'Klusterlet Component Applied' },
        {
          type: 'Available',
          status: running.has(name) ? 'True' : 'False',
          reason: running.has(name) ? 'KlusterletAvailable' : 'NoAvailablePods',
          message: '',
        },
        {
          type: 'HubConnectionDegraded',
          status: isConnected ? 'False' : 'True',
          reason: isConnected ? 'HubConnectionFunctional' : 'HubKubeConfigSecretMissing',
          message: '',
        },
      ])
      return
    },
  })
  const watched = watchObjects<Klusterlet>(spoke, klusterlets, {
    keeps: ({ spec }) => owns(spec?.clusterName ?? ''),
    onChange: ({ metadata }) => add(metadata.name),
    signal,
  })
  const ours = [bootstrapSecret, hubKubeconfigSecret]
  watchObjects<Secret>(spoke, secrets, {
    keeps: ({ metadata }) => ours.includes(metadata.name),
    onChange: ({ metadata }) => {
      for (const each of watched.all()) if (namespaceOf(each) === metadata.namespace) add(keyOf(each))
    },
    signal,
  })
}

const namespaceOf = ({ spec }: Klusterlet): string =>
  spec?.namespace === undefined || spec.namespace === '' ? agentNamespace : spec.namespace

const optionsOf = (
  spoke: KubeClient,
  klusterlet: Klusterlet,
  bootstrap: Secret,
  known: Secret | undefined,
  agentOptions: KlusterletOperator['agentOptions'],
): SpokeAgentOptions => {
  const cluster = klusterlet.spec?.clusterName ?? ''
  const { server, token } = readKubeconfig(decoded(bootstrap, 'kubeconfig'))
  const identity =
    known === undefined ? undefined : { certificatePem: decoded(known, 'tls.crt'), keyPem: decoded(known, 'tls.key') }
  // An agent without a certificate registers: it may have lost the Secret, or never had it.
  const isKnown = identity !== undefined && identity.certificatePem !== ''
  return {
    ...agentOptions(cluster),
    ...(isKnown ? { identity } : {}),
    agentId: klusterlet.metadata.uid ?? '',
    agentName: klusterlet.metadata.uid ?? '',
    annotations: klusterlet.spec?.registrationConfiguration?.clusterAnnotations ?? {},
    serverUrls: (klusterlet.spec?.externalServerURLs ?? []).map(({ url }) => url),
    cluster,
    hub: server,
    bootstrapToken: token,
    onJoin: (made) => keepIdentity(spoke, namespaceOf(klusterlet), cluster, made),
  }
}

/** The agent keeps its certificate on the spoke, so that it need not register again. */
const keepIdentity = async (
  spoke: KubeClient,
  namespace: string,
  cluster: string,
  { certificatePem, keyPem }: AgentIdentity,
): Promise<void> => {
  const data = { 'cluster-name': base64(cluster), 'tls.crt': base64(certificatePem), 'tls.key': base64(keyPem) }
  const secret = { metadata: { name: hubKubeconfigSecret, namespace }, data }
  await spoke.createIfMissing(secrets, secret)
  await spoke.patch(secrets, secret, { data })
}

/** The agent namespace goes, and AppliedManifestWorks lose their finalizer; what they applied stays. */
const cleanUp = async (spoke: KubeClient, klusterlet: Klusterlet): Promise<void> => {
  const { items } = await spoke.list(appliedManifestWorks)
  for (const each of items.filter(({ spec }) => spec.agentID === klusterlet.metadata.uid))
    await spoke.patch(appliedManifestWorks, each, { metadata: { finalizers: null } })
  await spoke.remove(secrets, { metadata: { name: hubKubeconfigSecret, namespace: namespaceOf(klusterlet) } })
  await spoke.remove(namespaces, { metadata: { name: namespaceOf(klusterlet) } })
  await removeFinalizer(spoke, klusterlets, klusterlet, finalizer)
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data'?: string }
  }[]
  readonly users: readonly { readonly user: { readonly token?: string } }[]
}

/** The server and the token of a kubeconfig with one of each. */
const readKubeconfig = (text: string): { readonly server: ServerAddress; readonly token: string } => {
  const { clusters, users } = load(text) as Kubeconfig
  const cluster = clusters[0]?.cluster
  const caPem = Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString()
  return { server: { url: cluster?.server ?? '', caPem }, token: users[0]?.user.token ?? '' }
}

const decoded = ({ data }: Secret, key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString()
const base64 = (text: string): string => Buffer.from(text).toString('base64')
