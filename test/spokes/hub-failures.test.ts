import test from 'ava'
import { testHubFailures } from '../clusters/hub-failure-table.ts'
import { clusterApi, signingApi } from './spoke-fixture.ts'

const status = { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 }
const accountApi = '/apis/authentication.k8s.appscode.com/v1alpha1/accounts'
const tokenApi = '/api/v1/namespaces/open-cluster-management/serviceaccounts/agent-registration-bootstrap/token'
const found = {
  metadata: {
    name: 'shop',
    uid: 'u',
    resourceVersion: '1',
    annotations: { 'agent.open-cluster-management.io/managed-cluster-arn': 'x' },
  },
  spec: {},
}
const accepting = { method: 'POST', route: 'accept-spoke', body: { clusters: ['shop'] } }
const commanding = { method: 'POST', route: 'spoke-command', body: { clusterName: 'shop' } }

testHubFailures(test, {
  prepare: ({ on }) => {
    on(clusterApi, 200, { metadata: {}, items: [] })
    on(`${clusterApi}/shop`, 200, found)
    on('/api/v1/namespaces', 200, { metadata: {}, items: [] })
    on('/api/v1/namespaces/kube-public/configmaps', 404, status)
    on(signingApi, 200, { metadata: {}, items: [] })
    on(tokenApi, 201, { kind: 'TokenRequest', status: { token: 'of-the-account' } })
    on(accountApi, 200, { metadata: {}, items: [] })
    on(`${accountApi}/`, 200, { metadata: { name: 'ace.user.1', resourceVersion: '1' } })
  },
  calls: [
    ...['managed-clusters', 'not-accepted-clusters', 'accepted-clusters', 'available-clusters'].map((route) => ({
      method: 'GET',
      route,
      asks: clusterApi,
    })),
    { ...accepting, asks: `${clusterApi}/shop` },
    { ...accepting, asks: '/api/v1/namespaces' },
    { ...commanding, asks: `${clusterApi}/shop` },
    { ...commanding, asks: tokenApi },
    { method: 'POST', route: 'sync-accounts', asks: accountApi },
    { method: 'POST', route: 'sync-accounts', asks: `${accountApi}/` },
  ],
})
