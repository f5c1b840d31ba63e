// process: waiting - uses components
import { helm, kubernetes } from '../../support/components/available.ts'
import { untilAllowed } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import { helmRunnerSuite } from './helm-runner.suite.ts'
import { makeProcessFixture, type ProcessFixture } from './helm-process.fixture.ts'
import { declareSuite } from '../../support/declare-suite.ts'

const test = needing('helm', 'kubernetes')

let fixture: ProcessFixture

test.before(async () => {
  const server = (await kubernetes())!
  const { helm4 } = (await helm())!
  // The admin of the server may impersonate; who is impersonated may do what is bound to them.
  const uid = (
    (await server.request('GET', '/api/v1/namespaces/kube-system')).body as {
      readonly metadata: { readonly uid: string }
    }
  ).metadata.uid
  await server.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: `helm-runner-${uid.slice(0, 8)}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'moorage:org:quay' }],
  })
  await untilAllowed(server, 'moorage:quay', { verb: 'create', resource: 'secrets' }, ['moorage:org:quay'])
  fixture = await makeProcessFixture(helm4, {
    kubeconfig: server.kubeconfig(),
    uid,
    makeNamespace: async (name) => void (await server.request('POST', '/api/v1/namespaces', { metadata: { name } })),
  })
})

test.after.always(() => fixture?.stop())

declareSuite(helmRunnerSuite, 'a real API server', async () => fixture, test)
