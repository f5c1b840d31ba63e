import { sample as identity } from '../identity/sample.ts'
import { accountIds, sample as organizations } from '../organizations/sample.ts'
import { defineSample, must } from '../support/part-sample.ts'

/** A named chart repository of the organization, at an address where nothing may be asked. */
export const sample = defineSample({
  part: 'chart-repositories',
  make: async (tenant) => {
    const { service, org, prefix, text } = tenant
    const { owner } = await tenant.of(identity)
    await tenant.of(organizations)
    const [name, url] = [`${prefix}pantry`, `https://127.0.0.1:1/${text}`]
    const body = { name, url, description: text, username: text, password: text }
    const path = `/api/v1/orgs/${org}/chartrepositories`
    await must('repository', service.send('POST', path, { token: owner.token, body }))
    return { name, url }
  },
  names: ({ name, url }) => ({ 'chart repository': { name, url }, chart: { name: 'web' } }),
  bodies: {
    'chart-repositories.createNamed': (mine) => ({ own: { name: 'second', url: mine.key('chart repository', 'url') } }),
    'chart-repositories.editNamed': () => ({ own: { description: 'Changed' } }),
  },
  tables: (_, tenant) => ({ chart_repositories: { account_id: accountIds(tenant) } }),
  refusedToOwner: {
    'chart-repositories.listNamedCharts []': 'nothing may be requested from the address of the repository',
    'chart-repositories.listNamedVersions []': 'nothing may be requested from the address of the repository',
    'chart-repositories.listKnownCharts []': 'nothing may be requested from the address of the repository',
    'chart-repositories.listKnownVersions []': 'nothing may be requested from the address of the repository',
  },
})
