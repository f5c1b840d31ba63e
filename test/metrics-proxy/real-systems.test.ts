import { randomUUID } from 'node:crypto'
import test from 'ava'
import { makeDashboardHttp } from '../../adapters/dashboards/dashboard-http.ts'
import { makeGrafana } from '../../adapters/dashboards/grafana.ts'
import { makePerses } from '../../adapters/dashboards/perses.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { DashboardSystem, WantedDatasource } from '../../core/metrics-proxy/ports.ts'
import { unwrap } from '../support/outcome.ts'
import { startGrafanaStandIn } from './grafana-stand-in.ts'
import { startPersesStandIn } from './perses-stand-in.ts'

interface Reached {
  readonly system: DashboardSystem
  /** Returns the datasource as the system shows it; undefined if it has none. */
  find(backend: string, tenant: string): Promise<unknown>
  close(): Promise<void>
}

const credentialsOf = (url: URL): string =>
  Buffer.from(`${decodeURIComponent(url.username) || 'admin'}:${decodeURIComponent(url.password) || 'admin'}`).toString(
    'base64',
  )

const reachGrafana = (address: string): Reached => {
  const url = new URL(address)
  const authorization = `Basic ${credentialsOf(url)}`
  const base = `${url.origin}${url.pathname.replace(/\/$/, '')}`
  const http = makeDashboardHttp(`${base}/api`, secret(authorization))
  return {
    system: makeGrafana(base, http),
    close: () => http.close(),
    async find(backend, tenant) {
      const organization = await fetch(`${base}/api/orgs/name/${tenant}`, { headers: { authorization } })
      if (!organization.ok) return undefined
      const { id } = (await organization.json()) as { id: number }
      const headers = { authorization, 'x-grafana-org-id': String(id) }
      const found = await fetch(`${base}/api/datasources/name/${backend}`, { headers })
      return found.ok ? found.json() : undefined
    },
  }
}

const reachPerses = (address: string): Reached => {
  const base = address.replace(/\/$/, '')
  const http = makeDashboardHttp(`${base}/api/v1`, undefined)
  return {
    system: makePerses(base, http),
    close: () => http.close(),
    async find(backend, tenant) {
      const found = await fetch(`${base}/api/v1/projects/${tenant}/datasources/${backend}`)
      return found.ok ? found.json() : undefined
    },
  }
}

/** The same life of a datasource for the real system and for its stand-in, so that one is as strict as the other. */
const cases = (name: string, reach: () => Promise<Reached>): void => {
  test(`${name}: a datasource is made, repeated, changed, made the default, and removed`, async (t) => {
    const { system, find, close } = await reach()
    const { signal } = new AbortController()
    const tenant = `user.${Math.floor(Math.random() * 1e12) + 1}`
    const wanted = (backend: string, changes: Partial<WantedDatasource> = {}): WantedDatasource => ({
      backend,
      tenantName: tenant,
      title: `pier ${backend.slice(-4)}`,
      url: `http://127.0.0.1:9/metrics/${backend}`,
      proxyToken: secret('a-token'),
      isDefault: true,
      issuesToken: true,
      formerToken: '',
      ...changes,
    })
    const [first, second] = [`1.${randomUUID()}`, `1.${randomUUID()}.p-8xk2c`]
    try {
      const placed = unwrap(await system.put(wanted(first), signal))
      t.is(placed.placement.datasource, first)
      const formerToken = placed.placement.issuedToken
      unwrap(await system.put(wanted(first, { issuesToken: false, formerToken }), signal))
      const changed = unwrap(await system.put(wanted(first, { url: 'http://127.0.0.1:9/x', formerToken }), signal))
      t.true(JSON.stringify(await find(first, tenant)).includes('http://127.0.0.1:9/x'))
      const other = unwrap(await system.put(wanted(second), signal))
      for (const { placement, backend } of [
        { placement: changed.placement, backend: first },
        { placement: other.placement, backend: second },
      ]) {
        const removed = { backend, tenantName: tenant, formerToken: placement.issuedToken }
        unwrap(await system.remove(removed, signal))
        unwrap(await system.remove(removed, signal))
        t.is(await find(backend, tenant), undefined)
      }
      unwrap(await system.remove({ backend: first, tenantName: 'user.999999999999999', formerToken: '' }, signal))
    } finally {
      await close()
    }
  })

  test(`${name}: the same datasource that is made several times at once exists once`, async (t) => {
    const { system, find, close } = await reach()
    const tenant = `user.${Math.floor(Math.random() * 1e12) + 1}`
    const backend = `1.${randomUUID()}`
    try {
      const wanted = {
        backend,
        tenantName: tenant,
        title: 'pier',
        url: 'http://127.0.0.1:9/',
        proxyToken: secret('a-token'),
        isDefault: false,
        issuesToken: false,
        formerToken: '',
      }
      const { signal } = new AbortController()
      await Promise.all([1, 2, 3, 4].map(async () => unwrap(await system.put(wanted, signal))))
      t.not(await find(backend, tenant), undefined)
      unwrap(await system.remove({ backend, tenantName: tenant, formerToken: '' }, signal))
      t.is(await find(backend, tenant), undefined)
    } finally {
      await close()
    }
  })
}

cases('stand-in of Grafana', async () => {
  const standIn = await startGrafanaStandIn()
  const reached = reachGrafana(standIn.origin)
  const ofName = async (backend: string, tenant: string) =>
    [...(standIn.organization(tenant)?.datasources.values() ?? [])].find(({ name }) => name === backend)
  return {
    ...reached,
    find: ofName,
    close: async () => {
      await reached.close()
      await standIn.stop()
    },
  }
})
cases('stand-in of Perses', async () => {
  const standIn = await startPersesStandIn()
  const reached = reachPerses(standIn.origin)
  return {
    ...reached,
    close: async () => {
      await reached.close()
      await standIn.stop()
    },
  }
})

const real = {
  'a real Grafana': ['MOORAGE_TEST_GRAFANA_URL', reachGrafana],
  'a real Perses': ['MOORAGE_TEST_PERSES_URL', reachPerses],
} as const
for (const [name, [variable, reach]] of Object.entries(real)) {
  const address = process.env[variable]
  if (address !== undefined && address !== '') cases(name, async () => reach(address))
  else
    test(`${name} is NOT tested in this run: ${variable} is not set`, (t) => {
      t.pass()
    })
}
