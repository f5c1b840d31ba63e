import { secrets, type Secret } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { makeReconciler, type Reconciler } from '../api/reconciler.ts'
import { watchObjects } from '../api/watched-objects.ts'
import type { HubFixture } from '../controllers/hub-fixture.ts'

const type = 'kubernetes.io/service-account-token'
const account = 'kubernetes.io/service-account.name'
const lifetimeSeconds = 31_536_000

/**
 * 'No `default` SA, token Secret `data` stays null ...: harness fills Secret data for "controller did it" cases' (note
 * §12).
 */
export const runTokenSecretFiller = (
  fixture: Pick<HubFixture, 'client' | 'reconciler' | 'signal'>,
  fills: (namespace: string) => boolean,
): void => {
  const { client, signal } = fixture
  const { add } = fixture.reconciler({
    name: 'token secret',
    reconcile: async (key) => {
      const secret = watched.get(key)
      const { namespace = '', annotations } = secret?.metadata ?? {}
      const name = annotations?.[account]
      if (secret === undefined || name === undefined || secret.data?.['token'] !== undefined) return
      const { status } = await client.call<{ readonly status: { readonly token: string } }>(
        'POST',
        `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: lifetimeSeconds },
        },
      )
      const data = { token: base64(status.token), 'ca.crt': base64(client.server.caPem), namespace: base64(namespace) }
      await client.patch(secrets, secret, { metadata: { resourceVersion: secret.metadata.resourceVersion }, data })
    },
  })
  const watched = watchObjects<Secret>(client, secrets, {
    selection: { fieldSelector: `type=${type}` },
    keeps: ({ metadata }) => fills(metadata.namespace ?? ''),
    onChange: ({ metadata }, isGone) => {
      if (!isGone) add(`${metadata.namespace ?? ''}/${metadata.name}`)
    },
    signal,
  })
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Issues the tokens of service accounts on a cluster, as its controller manager does. */
export const issueTokens = (client: KubeClient, owns: (namespace: string) => boolean): { stop(): Promise<void> } => {
  const ending = new AbortController()
  const reconcilers: Reconciler[] = []
  const reconciler = (options: Parameters<typeof makeReconciler>[0]): Reconciler => {
    const made = makeReconciler(options)
    reconcilers.push(made)
    return made
  }
  runTokenSecretFiller({ client, signal: ending.signal, reconciler }, owns)
  return {
    stop: async () => {
      ending.abort()
      await Promise.all(reconcilers.map((each) => each.stop()))
    },
  }
}
