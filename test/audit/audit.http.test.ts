import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { runCommandLine } from '../../composition/moorage.ts'
import { AuditDenialsPort } from '../../core/audit/ports.ts'
import { listOrganizationAudit, listSiteAudit } from '../../plugins/audit/audit.routes.ts'
import type { FixtureService } from '../authz/fixture-service.ts'
import { people, served, startFixtureService } from '../authz/fixture-service.ts'
import { nameOf } from '../authz/account-names.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { startService } from '../support/service.ts'

const orgname = nameOf(served.org)
const view = { namespace: 'cluster_mgmt', action: 'view clusters' }

let service: FixtureService
test.before(async () => {
  service = await startFixtureService()
})
test.after.always(() => service.stop())

const createRole = async (userId: number, name: string, org: string) =>
  service.send('POST', `/api/v1/authz/roles?org=${org}`, {
    token: await service.tokenOf(userId),
    body: { name, permissions: [view] },
  })

test.serial("an owner reads only the organization's own log through the typed client", async (t) => {
  await createRole(people.owner, 'ours', orgname)
  await createRole(people.outsider, 'theirs', nameOf(served.otherOrg))
  const ours = await service.client.call(listOrganizationAudit, {
    headers: await service.as(people.owner),
    params: { orgname },
    query: {},
  })
  t.deepEqual(ours.ok && ours.value.items.map(({ object_name }) => object_name), ['ours'])
  const theirs = await service.send('GET', `/api/v1/orgs/${orgname}/audit`, {
    token: await service.tokenOf(people.outsider),
  })
  t.is(theirs.status, 404)
  t.false(theirs.text.includes('ours'))
})

test.serial('only owners and members with the permission read it', async (t) => {
  const statusFor = async (userId: number) =>
    (await service.send('GET', `/api/v1/orgs/${orgname}/audit`, { token: await service.tokenOf(userId) })).status
  t.deepEqual(
    [await statusFor(people.owner), await statusFor(people.admin), await statusFor(people.viewer)],
    [200, 403, 403],
  )
  t.is((await service.send('GET', `/api/v1/orgs/${orgname}/audit`)).status, 401)
})

test.serial('a site admin reads every row, refusals included, filtered', async (t) => {
  const headers = { Authorization: `Bearer ${service.adminToken}` }
  await service.send('GET', `/api/v1/orgs/${orgname}/audit`, { token: await service.tokenOf(people.viewer) })
  await service.running.container.resolve(AuditDenialsPort).flush()
  const denied = await service.client.call(listSiteAudit, {
    headers,
    query: { action: 'access.denied', actor: nameOf(people.viewer) },
  })
  t.like(denied.ok && denied.value.items[0], {
    result: 'denied',
    operation: 'audit.listOrganizationEvents',
    method: 'token',
  })
  const roles = await service.client.call(listSiteAudit, {
    headers,
    query: { action: 'role.created', since: new Date('2020-01-01T00:00:00Z') },
  })
  t.deepEqual(roles.ok && roles.value.items.map(({ object_name }) => object_name), ['theirs', 'ours'])
  const paged = await service.send('GET', '/api/v1/admin/audit?action=role.created&limit=1&page=2', {
    token: service.adminToken,
  })
  t.deepEqual([paged.json.length, paged.json[0].object_name, paged.headers['x-total-count']], [1, 'ours', '2'])
  t.is((await service.send('GET', '/api/v1/admin/audit', { token: await service.tokenOf(people.owner) })).status, 403)
})

test.serial('sudo leaves both names', async (t) => {
  const answer = await service.send('POST', `/api/v1/authz/roles?org=${orgname}&sudo=${nameOf(people.owner)}`, {
    token: service.adminToken,
    body: { name: 'by sudo', permissions: [view] },
  })
  t.is(answer.status, 201)
  const log = await service.send('GET', `/api/v1/orgs/${orgname}/audit?action=role.created`, {
    token: await service.tokenOf(people.owner),
  })
  t.like(log.json[0], { actor: nameOf(people.owner), impersonator: 'admin', object_name: 'by sudo' })
})

test.serial('a filter that cannot be read is refused', async (t) => {
  for (const filter of ['since=yesterday', 'since=2026-13-01T00:00:00Z', 'action=%27', 'actor=a%20b']) {
    const answer = await service.send('GET', `/api/v1/admin/audit?${filter}`, { token: service.adminToken })
    t.is(answer.status, 400, filter)
  }
})

test.serial('pages of the log are linked by key, and numbered pages end', async (t) => {
  for (let at = 0; at < 5; at += 1) await createRole(people.owner, `keyed ${at}`, orgname)
  const token = await service.tokenOf(people.owner)
  const path = `/api/v1/orgs/${orgname}/audit?action=role.created&limit=2`
  const whole = (await service.send('GET', `${path}&limit=50`.replace('&limit=2', ''), { token })).json as Line[]
  const ids: number[] = []
  for (let next: string | undefined = path; next !== undefined;) {
    const answer = await service.send('GET', next, { token })
    t.is(answer.status, 200)
    ids.push(...(answer.json as Line[]).map(({ id }) => id))
    const url = /<([^>]+)>; rel="next"/.exec(String(answer.headers['link'] ?? ''))?.[1]
    if (url !== undefined) t.regex(url, /[?&]before=\d+/)
    next = url === undefined ? undefined : new URL(url).pathname + new URL(url).search
  }
  t.deepEqual(
    ids,
    whole.map(({ id }) => id),
  )
  const numbered = await service.send('GET', `${path}&page=2`, { token })
  t.deepEqual(
    (numbered.json as Line[]).map(({ id }) => id),
    ids.slice(2, 4),
  )
  t.is((await service.send('GET', `/api/v1/orgs/${orgname}/audit?page=200&limit=50`, { token })).status, 200)
  const tooDeep = await service.send('GET', `/api/v1/orgs/${orgname}/audit?page=201&limit=50`, { token })
  t.is(tooDeep.status, 400)
  t.regex(String((tooDeep.json as { message: string }).message), /up to 10000 items/)
})

interface Line {
  readonly id: number
  readonly action: string
}

test('the log is copied by route and by command, each from where the last copy ended', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-audit-export-'))
  const environment = { MOORAGE_DATABASE_URL: `sqlite:${await migratedSqlitePath()}`, MOORAGE_DATA_DIR: folder }
  const service = await startService({ settings: environment })
  const byRoute = async (path: string, token = service.adminToken) => {
    const answer = await fetch(`${service.baseUrl}/api/v1${path}`, { headers: { authorization: `token ${token}` } })
    const text = await answer.text()
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      lines: text
        .split('\n')
        .filter((line) => line.startsWith('{"id"'))
        .map((line) => JSON.parse(line) as Line),
    }
  }
  const byCommand = async (...options: readonly string[]) => {
    const printed: string[] = []
    const exitCode = await runCommandLine(['audit', 'export', ...options], {
      environment,
      print: (text) => void printed.push(text),
      say: () => undefined,
    })
    return { exitCode, lines: printed.map((line) => JSON.parse(line) as Line) }
  }
  try {
    const all = await byRoute('/admin/audit/export')
    t.like(all, { status: 200, type: 'application/x-ndjson' })
    t.true(all.lines.length > 0)
    t.deepEqual(
      all.lines.map(({ id }) => id),
      all.lines.map(({ id }) => id).toSorted((a, b) => a - b),
    )
    const last = all.lines.at(-1)?.id ?? 0
    t.deepEqual((await byRoute(`/admin/audit/export?after=${last}`)).lines, [])
    t.is((await byRoute(`/admin/audit/export?after=x`)).status, 400)
    const copied = await byCommand()
    t.is(copied.exitCode, 0)
    t.deepEqual(
      copied.lines.map(({ id }) => id).slice(0, all.lines.length),
      all.lines.map(({ id }) => id),
    )
    t.deepEqual((await byCommand('--after', String(copied.lines.at(-1)?.id ?? 0))).lines, [])
    t.deepEqual((await byCommand('--since', '2999-01-01')).lines, [])
    for (const wrong of [
      ['--since', 'yesterday'],
      ['--after', 'x'],
    ])
      t.is((await byCommand(...wrong)).exitCode, 2)
    const db = await openPatiently(environment.MOORAGE_DATABASE_URL)
    await db.query((k) => k('audit_events').where('id', copied.lines[0]?.id).update({ changes: '{' }))
    await db.close()
    t.like(
      await byCommand(),
      { exitCode: 0, lines: copied.lines.map(({ id }) => ({ id })) },
      'a damaged row does not end the copy',
    )
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('moorage audit verify tells a whole log from an altered one', async (t) => {
  const url = `sqlite:${await migratedSqlitePath()}`
  const folder = mkdtempSync(join(tmpdir(), 'moorage-audit-'))
  const environment = { MOORAGE_DATABASE_URL: url, MOORAGE_DATA_DIR: folder }
  const service = await startService({ settings: environment })
  const verify = async () => {
    const lines: string[] = []
    const exitCode = await runCommandLine(['audit', 'verify', '--json'], {
      environment,
      print: (text) => void lines.push(text),
      say: () => undefined,
    })
    const printed: unknown = JSON.parse(lines.join('\n'))
    return {
      exitCode,
      printed: printed as { readonly isWhole: boolean; readonly chains: readonly { readonly rows: number }[] },
    }
  }
  try {
    const whole = await verify()
    t.deepEqual([whole.exitCode, whole.printed.isWhole], [0, true])
    t.true(whole.printed.chains.length > 0)
    const db = await openPatiently(url)
    await db.query((k) => k('audit_events').update({ actor_name: 'somebody' }))
    await db.close()
    const altered = await verify()
    t.deepEqual([altered.exitCode, altered.printed.isWhole], [1, false])
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
