import test from 'ava'
import fc from 'fast-check'
import type { ClientOrgStatus, ClusterState } from '../../core/client-orgs/types.ts'
import {
  clientOrgStates,
  clientOrgStatuses,
  isClientName,
  namespacesOf,
  statusOfAll,
  statusOfCluster,
} from '../../core/client-orgs/types.ts'

const [all, rest] = [
  ['acme', 'acme-gw', 'acme-monitoring'],
  ['acme-gw', 'acme-monitoring'],
]

/** The state of the cluster, its namespaces that exist (undefined: it does not answer), and the status. */
const ofCluster: readonly (readonly [ClusterState, readonly string[] | undefined, ClientOrgStatus])[] = [
  ['Provisioning', undefined, 'Active'],
  ['Provisioning', [], 'Active'],
  ['Active', undefined, 'Active'],
  ['Active', [], 'Active'],
  ['Active', all, 'Active'],
  ['Failed', undefined, 'Active'],
  ['Failed', all, 'Active'],
  ['Failed', [], 'NotFound'],
  ['Deleting', undefined, 'Deleting'],
  ['Deleting', all, 'Deleting'],
  ['Deleting', ['acme'], 'Deleting'],
  ['Deleting', rest, 'Partially Deleted'],
  ['Deleting', ['acme-gw'], 'Partially Deleted'],
  ['Deleting', ['acme-monitoring'], 'Partially Deleted'],
  ['Deleting', [], 'Deleting'],
  ['Deleted', undefined, 'Deleted'],
  ['Deleted', all, 'Deleted'],
  ['Abandoned', undefined, 'Partially Deleted'],
  ['Abandoned', [], 'Partially Deleted'],
]

for (const [state, present, status] of ofCluster)
  test(`a cluster that is ${state}, with ${present?.join(', ') ?? 'no answer'}, is ${status}`, (t) => {
    t.is(statusOfCluster('acme', { state }, present === undefined ? undefined : new Set(present)), status)
  })

const ofAll: readonly (readonly [(typeof clientOrgStates)[number], readonly ClientOrgStatus[], ClientOrgStatus])[] = [
  ['Live', [], 'Active'],
  ['Deleting', [], 'Deleting'],
  ['Deleted', [], 'Deleted'],
  ['Live', ['NotFound'], 'Active'],
  ['Live', ['Active', 'Active'], 'Active'],
  ['Live', ['Active', 'NotFound'], 'Active'],
  ['Live', ['Active', 'Deleting'], 'Deleting'],
  ['Deleting', ['Deleted', 'Deleting'], 'Deleting'],
  ['Deleting', ['Partially Deleted', 'Deleting'], 'Deleting'],
  ['Live', ['Active', 'Deleted'], 'Partially Deleted'],
  ['Deleting', ['Partially Deleted'], 'Partially Deleted'],
  ['Deleting', ['Partially Deleted', 'Deleted'], 'Deleting'],
  ['Deleting', ['Deleted', 'Deleted'], 'Deleting'],
  ['Deleted', ['Deleted', 'Partially Deleted'], 'Partially Deleted'],
  ['Deleted', ['Deleted'], 'Deleted'],
]

for (const [state, clusters, status] of ofAll)
  test(`a client organization that is ${state}, with clusters [${clusters.join(', ')}], is ${status}`, (t) => {
    t.is(statusOfAll(state, clusters), status)
  })

test('the order of clusters and empty clusters do not affect the status', (t) => {
  const statuses = fc.array(fc.constantFrom(...clientOrgStatuses), { maxLength: 5 })
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.constantFrom(...clientOrgStates), statuses, (state, clusters) => {
        const status = statusOfAll(state, clusters)
        return (
          status === statusOfAll(state, clusters.toReversed()) &&
          status === statusOfAll(state, ['NotFound', ...clusters]) &&
          status !== 'NotFound'
        )
      }),
    ),
  )
})

test('a name must yield DNS labels that no other client has', (t) => {
  for (const name of ['acme', 'a', 'a-1', 'a'.repeat(40)]) t.true(isClientName(name), name)
  for (const name of ['', 'Acme', 'a.b', 'a_b', '-a', 'a-', 'a'.repeat(41), 'a'.repeat(54), 'default', 'kube-system'])
    t.false(isClientName(name), name)
  for (const name of ['acme-gw', 'acme-monitoring', 'moorage-clients']) t.false(isClientName(name), name)
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.stringMatching(/^[a-zA-Z0-9.-]{0,45}$/), (name) =>
        isClientName(name)
          ? namespacesOf(name, { useGateway: true }).every((each) =>
              /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(each),
            )
          : true,
      ),
    ),
  )
})
