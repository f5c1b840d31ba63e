import test from 'ava'
import type { ExecutionContext } from 'ava'
import { AuditDenialsPort } from '../../core/audit/ports.ts'
import { eachDatabase } from '../support/databases.ts'
import { listOrganizationAudit, listSiteAudit } from '../../plugins/audit/audit.routes.ts'
import {
  createRole,
  deleteRole,
  getRole,
  listAvailablePermissions,
  listRolePrincipals,
  listRoles,
  updateRole,
} from '../../plugins/authz/roles.routes.ts'
import { nameOf } from './account-names.ts'
import type { FixtureService } from './fixture-service.ts'
import { people, served, startFixtureService } from './fixture-service.ts'

const org = nameOf(served.org)
const view = { namespace: 'cluster_mgmt', action: 'view clusters' }
const connect = { namespace: 'cluster_mgmt', action: 'connect to clusters' }
const roles = `/api/v1/authz/roles`

for (const { name: database } of eachDatabase()) {
  const onService = (title: string, run: (t: ExecutionContext, service: FixtureService) => Promise<void>): void =>
    test(`${database}: ${title}`, async (t) => {
      const service = await startFixtureService(database)
      try {
        await run(t, service)
      } finally {
        await service.stop()
      }
    })

  onService('a role is created, read, listed, changed and deleted through the typed client', async (t, service) => {
    const headers = await service.as(people.admin)
    const query = { org }
    const made = await service.client.call(createRole, {
      headers,
      query,
      body: { name: 'Lookers', permissions: [view], description: 'Look', teamIDs: [613] },
    })
    t.is(made.status, 201)
    const role = made.ok ? made.value.value : undefined
    t.like(role, { name: 'Lookers', owner_id: served.org, description: 'Look', permissions: [view], team_ids: [613] })
    const params = { id: role?.id ?? 0 }
    const read = await service.client.call(getRole, { headers, query, params })
    t.deepEqual(read.ok && read.value, made.ok && made.value)

    const listed = await service.client.call(listRoles, { headers, query })
    t.deepEqual(listed.ok && listed.value.items.map(({ name }) => name), ['role6101', 'Lookers'])

    const changed = await service.client.call(updateRole, {
      headers,
      query,
      params,
      ifVersion: 1,
      body: { name: 'Connectors', permissions: [view, connect] },
    })
    t.like(changed.ok && changed.value.value, { name: 'Connectors', description: 'Look', team_ids: [613] })
    const stale = await service.client.call(updateRole, {
      headers,
      query,
      params,
      ifVersion: 1,
      body: { name: 'Late' },
    })
    t.is(stale.status, 412)

    t.is((await service.client.call(deleteRole, { headers, query, params })).status, 204)
    t.is((await service.client.call(getRole, { headers, query, params })).status, 404)
  })

  onService('principals are the teams and the people in them', async (t, service) => {
    const answer = await service.client.call(listRolePrincipals, {
      headers: await service.as(people.viewer),
      query: { org },
      params: { id: 6101 },
    })
    t.deepEqual(answer.ok && answer.value.items, [
      { type: 'team', id: 613, name: 'team613', display_name: 'team613', via_team_id: undefined },
      {
        type: 'user',
        id: people.viewer,
        name: nameOf(people.viewer),
        display_name: `Person ${people.viewer}`,
        via_team_id: 613,
      },
    ])
  })

  onService('available permissions are those of all parts, with their companions', async (t, service) => {
    const answer = await service.client.call(listAvailablePermissions, {
      headers: await service.as(people.viewer),
      query: { org },
    })
    const found = answer.ok ? answer.value.permissions.find(({ action }) => action === connect.action) : undefined
    t.like(found, { ...connect, associated: [{ ...view, required: true }] })
  })

  onService(
    'every route tells outsiders 403, strangers 401, and members 404 for a role of another organization',
    async (t, service) => {
      const outsider = await service.tokenOf(people.outsider)
      const owner = await service.tokenOf(people.owner)
      const routes = [
        ['GET', `${roles}/available_permissions`],
        ['GET', roles],
        ['POST', roles],
        ['GET', `${roles}/6101`],
        ['PUT', `${roles}/6101`],
        ['DELETE', `${roles}/6101`],
        ['GET', `${roles}/6101/principals`],
      ] as const
      for (const [method, path] of routes) {
        const body = method === 'POST' || method === 'PUT' ? {} : undefined
        t.is((await service.send(method, `${path}?org=${org}`, { body })).status, 401, `${method} ${path}`)
        t.is(
          (await service.send(method, `${path}?org=${org}`, { token: outsider, body })).status,
          403,
          `${method} ${path}`,
        )
        t.is(
          (await service.send(method, `${path}?org=nobody`, { token: owner, body })).status,
          403,
          `${method} ${path}`,
        )
        t.is((await service.send(method, path, { token: owner, body })).status, 400, `${method} ${path} without org`)
        if (path.includes('6101')) {
          const foreign = path.replace('6101', '6201')
          t.is((await service.send(method, `${foreign}?org=${org}`, { token: owner, body })).status, 404, foreign)
        }
      }
      const kept = await service.call(outsider, getRole, {
        query: { org: nameOf(served.otherOrg) },
        params: { id: 6201 },
      })
      t.is(kept.value.value.owner_id, served.otherOrg)
    },
  )

  onService('a member without the right reads roles, but changes none', async (t, service) => {
    const token = await service.tokenOf(people.viewer)
    t.is((await service.call(token, getRole, { query: { org }, params: { id: 6101 } })).value.value.name, 'role6101')
    t.is(
      (await service.send('POST', `${roles}?org=${org}`, { token, body: { name: 'x', permissions: [view] } })).status,
      403,
    )
    t.is((await service.send('PUT', `${roles}/6101?org=${org}`, { token, body: { name: 'x' } })).status, 403)
    t.is((await service.send('DELETE', `${roles}/6101?org=${org}`, { token })).status, 403)
  })

  onService('bad input has the status that the declaration says, and a message', async (t, service) => {
    const token = await service.tokenOf(people.admin)
    const cases: readonly (readonly [unknown, number])[] = [
      [{ permissions: [view] }, 422],
      [{ name: 'x' }, 422],
      [{ name: 'x', permissions: 'all' }, 422],
      [{ name: 7, permissions: [view] }, 422],
      [{ name: '', permissions: [view] }, 422],
      [{ name: 'x'.repeat(101), permissions: [view] }, 422],
      [{ name: 'x', permissions: [] }, 422],
      [{ name: 'ROLE6101', permissions: [view] }, 422],
      [{ name: 'x', permissions: [view], teamIDs: [0] }, 422],
      ['{"name":"x","permissions":[{"namespace":"cluster_mgmt","action":"fly","action":"view clusters"}]}', 422],
      [{ name: 'x', permissions: [{ namespace: 'cluster_mgmt', action: 'fly' }] }, 400],
      [{ name: 'x', permissions: [connect] }, 400],
      [{ name: 'x', permissions: [view], teamIDs: [621] }, 400],
      [{ name: 'x', permissions: [{ namespace: 'org_mgmt', action: 'view audit log' }] }, 403],
    ]
    for (const [body, status] of cases) {
      const answer = await service.send('POST', `${roles}?org=${org}`, { token, body })
      t.is(answer.status, status, JSON.stringify(body))
      t.is(typeof answer.json.message, 'string')
    }
    t.is((await service.send('PUT', `${roles}/6101?org=${org}`, { token, body: { permissions: [] } })).status, 422)
    for (const id of ['0', '-1', 'x', '1.5', '9223372036854775807', '99999999999999999999']) {
      t.is((await service.send('GET', `${roles}/${id}?org=${org}`, { token })).status, 404, id)
    }
  })

  onService('a read token reads roles and changes none; a site admin may do both anywhere', async (t, service) => {
    const token = await service.tokenOf(people.owner, ['read:authz'])
    t.deepEqual(
      (await service.call(token, listRoles, { query: { org } })).value.items.map(({ name }) => name),
      ['role6101'],
    )
    t.is(
      (await service.send('POST', `${roles}?org=${org}`, { token, body: { name: 'x', permissions: [view] } })).status,
      403,
    )
    const made = await service.call(service.adminToken, createRole, {
      query: { org },
      body: { name: 'x', permissions: [view] },
    })
    t.like(made.value.value, { name: 'x', owner_id: served.org, permissions: [view] })
  })

  onService('each change and each denial is in the audit log', async (t, service) => {
    const owner = await service.tokenOf(people.owner)
    const viewer = await service.tokenOf(people.viewer)
    await service.call(owner, createRole, { query: { org }, body: { name: 'audited', permissions: [view] } })
    t.is((await service.send('DELETE', `${roles}/6101?org=${org}`, { token: viewer })).status, 403)
    await service.running.container.resolve(AuditDenialsPort).flush()
    const own = await service.call(owner, listOrganizationAudit, { params: { orgname: org } })
    const ofAction = (action: string) => own.value.items.find((row) => row.action === action)
    t.like(ofAction('role.created'), {
      actor: nameOf(people.owner),
      object_name: 'audited',
      result: 'done',
      owner_id: served.org,
    })
    // Whoever owns the organization sees who tried, too.
    t.like(ofAction('access.denied'), {
      actor: nameOf(people.viewer),
      operation: 'authz.deleteRole',
      result: 'denied',
      owner_id: served.org,
    })
    t.is((await service.send('GET', `/api/v1/orgs/${org}/audit`, { token: viewer })).status, 403)
    await service.running.container.resolve(AuditDenialsPort).flush()
    const all = await service.call(service.adminToken, listSiteAudit, {
      query: { action: 'access.denied', actor: nameOf(people.viewer) },
    })
    t.true(all.value.items.some(({ operation }) => operation === 'authz.deleteRole'))
    t.is((await service.send('GET', '/api/v1/admin/audit', { token: owner })).status, 403)
  })
}
