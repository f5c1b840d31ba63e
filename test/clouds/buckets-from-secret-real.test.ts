import { kubernetes } from '../support/components/available.ts'
import { untilAllowed } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { bucketsFromSecretCases, type MemberCluster } from './buckets-from-secret-cases.ts'

/** A real kube-apiserver, with its own authorization of the impersonated caller. */
const realMember = async (): Promise<MemberCluster> => {
  const cluster = (await kubernetes())!
  const made = async (path: string, body: object): Promise<void> => {
    const answer = await cluster.request('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  return {
    kubeconfig: () => cluster.kubeconfig(),
    createNamespace: () => cluster.createNamespace('vault'),
    putSecret: (namespace, name, data) => made(`/api/v1/namespaces/${namespace}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: data }),
    letRead: async (namespace, user) => {
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
      const name = `read-${user.replaceAll(':', '-')}`
      await made(`${rbac}/roles`, { metadata: { name }, rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] })
      await made(`${rbac}/rolebindings`, { metadata: { name }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }, subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }] })
      await untilAllowed(cluster, user, { namespace, verb: 'get', resource: 'secrets' })
    },
    stop: async () => undefined,
  }
}

bucketsFromSecretCases(needing('kubernetes'), 'kubernetes', realMember)
