import { href, pathOf } from '../kit/address.js'
import { get } from '../kit/client.js'
import { Time, timeOf } from '../kit/format.js'
import { html } from '../kit/html.js'
import { Icon } from '../kit/icons.js'
import { Page } from '../kit/page.js'
import { relationsOn } from '../kit/permissions.js'
import { loaded, useResource } from '../kit/resource.js'
import { TaskState } from '../kit/tasks.js'
import { fill, texts } from '../texts.js'

/**
 * @import { AccountFacts, ScreenProps } from 'api-shapes'
 */

const text = texts.home

/** Of more accounts, the first ones are looked through. */
const mostAccounts = 10

/** Of more clusters, the first ones are looked through. */
const mostClusters = 50

/** A contract that ends within so many days needs attention. */
const soonDays = 60

/** @typedef {{ id: string, kind: 'bad' | 'warn', title: string, detail: string, to: string, at: string | number }} Matter */

/** Returns the items of a list, or none where the caller may not read it. @template T @param {boolean | undefined} isAllowed @param {() => Promise<{ data: T[] }>} ask */
const ifAllowed = async (isAllowed, ask) => (isAllowed === true ? (await ask()).data : [])

/** Clusters in these phases need nothing. */
const restful = ['Active', 'Registered', 'Importing', 'Connecting', '']

/**
 * Reads what the caller may see of an account. A part that the deployment does not have gives no relations.
 *
 * @param {AccountFacts} account
 * @param {boolean} isSiteAdmin
 * @param {AbortSignal} signal
 */
const readAccount = async ({ id, name, isOrganization }, isSiteAdmin, signal) => {
  const rights = await relationsOn(name, { objectType: isOrganization ? 'organization' : 'user', objectID: id })
  const canList = !isOrganization || rights.has('can_list_clusters')
  const [clusters, contracts, tasks, invitations, refused] = await Promise.all([
    // Those in the phases that need something come first.
    canList
      ? get('/clustersv2/{owner}', { path: { owner: name }, query: { sort: '-phase', limit: mostClusters }, signal })
      : { data: [], total: 0 },
    ifAllowed(rights.has('can_view_contracts'), () => get('/user/contracts', { query: { org: name }, signal })),
    ifAllowed(!isOrganization || rights.has('can_view_tasks'), () =>
      get('/tasks', { query: { account: name, limit: 20 }, signal }),
    ),
    ifAllowed(rights.has('can_add_member'), () =>
      get('/orgs/{orgname}/invitations', { path: { orgname: name }, signal }),
    ),
    isSiteAdmin && rights.has('can_view_billing')
      ? get('/dashboard/summary/refused-events', { query: { org: name }, signal }).then(({ data }) => data.items)
      : [],
  ])
  const total = clusters.total ?? clusters.data.length
  return { name, clusters: clusters.data, total, contracts, tasks, invitations, refused }
}

/** @param {Awaited<ReturnType<typeof readAccount>>} read @returns {Matter[]} */
const mattersOf = ({ name, clusters, contracts, tasks, invitations, refused }) => [
  ...refused.slice(0, 1).map((event) => ({
    id: `refused ${event.id}`,
    kind: /** @type {const} */ ('bad'),
    title: fill(text.refused, { total: refused.length }),
    detail: fill(text.refusedLast, { reason: event.message, org: name }),
    to: href(pathOf('o', name, 'incoming')),
    at: event.receivedAt,
  })),
  ...tasks
    .filter(({ state }) => state === 'failed' || state === 'unknown')
    .slice(0, 5)
    .map((task) => ({
      id: task.id,
      kind: /** @type {const} */ ('bad'),
      title: fill(text.taskFailed, { title: task.title }),
      detail: task.error ?? task.message,
      to: href(pathOf('o', name, 'tasks', task.id)),
      at: task.ended_at ?? task.created_at,
    })),
  ...clusters
    .filter(({ status }) => !restful.includes(status.phase ?? ''))
    .map((cluster) => ({
      id: `cluster ${cluster.id}`,
      kind: /** @type {const} */ ('bad'),
      title: fill(text.clusterAway, { cluster: cluster.displayName || cluster.name }),
      detail: fill(text.phase, { phase: cluster.status.phase ?? '', org: name }),
      to: href(pathOf('o', name, 'clusters', cluster.name)),
      at: cluster.createdAt,
    })),
  ...contracts
    .filter(({ state, end }) => state === 'active' && end * 1000 - Date.now() < soonDays * 86_400_000)
    .map((contract) => ({
      id: `contract ${contract.id}`,
      kind: /** @type {const} */ ('warn'),
      title: fill(text.contractEnds, { contract: contract.name }),
      detail: name,
      to: href(pathOf('o', name, 'contracts')),
      at: contract.end,
    })),
  ...invitations.map((invitation) => ({
    id: `invitation ${invitation.id}`,
    kind: /** @type {const} */ ('warn'),
    title: fill(text.invitationOpen, { email: invitation.display_email }),
    detail: fill(text.invitedBy, { inviter: invitation.inviter, org: name }),
    to: href(pathOf('o', name, 'invitations')),
    at: invitation.expires_at,
  })),
]

/** @param {{ to: string, value: number, label: string }} props */
const Figure = ({ to, value, label }) => html`
  <a class="figure" href=${to}><span class="value">${value}</span><span class="label">${label}</span></a>
`

/** @param {ScreenProps} props */
export const screen = ({ session }) => {
  const accounts = session.accounts.slice(0, mostAccounts)
  const resource = useResource('home', (signal) =>
    Promise.all(accounts.map((account) => readAccount(account, session.isSiteAdmin, signal))),
  )
  return html`
    <${Page} title=${fill(text.greeting, { name: session.user.full_name || session.user.login })} lead=${text.lead}>
      ${loaded(resource, (read) => {
        const matters = read.flatMap(mattersOf)
        const recent = read
          .flatMap(({ name, tasks }) => tasks.map((task) => ({ name, task })))
          .sort((a, b) => b.task.created_at.localeCompare(a.task.created_at))
          .slice(0, 6)
        const shown = read.filter(({ name, total }) => name !== session.user.login || total > 0)
        return html`
          <div class="stack">
            <section class="card" aria-labelledby="attention">
              <div class="card-head"><h2 id="attention">${text.attention}</h2></div>
              ${
                matters.length === 0
                  ? html`<p class="faint calm"><${Icon} name="check" />${text.calm}</p>`
                  : html`<ul class="rows">
                      ${matters.map(
                        ({ id, kind, title, detail, to, at }) =>
                          html`<li key=${id}>
                            <span class="badge ${kind}">${texts.home.kinds[kind]}</span>
                            <a class="strong" href=${to}>${title}</a>
                            <span class="faint">${detail}</span>
                            ${timeOf(at) && html`<span class="faint end"><${Time} value=${at} as="ago" /></span>`}
                          </li>`,
                      )}
                    </ul>`
              }
            </section>
            ${
              recent.length > 0 &&
              html`<section class="card" aria-labelledby="recent">
                <div class="card-head"><h2 id="recent">${text.recent}</h2></div>
                <ul class="rows">
                  ${recent.map(
                    ({ name, task }) =>
                      html`<li key=${task.id}>
                        <${TaskState} state=${task.state} /><a href=${href(pathOf('o', name, 'tasks', task.id))}
                          >${task.title}</a
                        ><span class="faint end"><${Time} value=${task.created_at} as="ago" /></span>
                      </li>`,
                  )}
                </ul>
              </section>`
            }
            ${shown.map(
              ({ name, total, contracts }) => html`
                <section key=${name} aria-labelledby="account-${name}">
                  <h2 id="account-${name}" class="section-title">
                    ${session.accounts.find((each) => each.name === name)?.title ?? name}
                  </h2>
                  <div class="figures">
                    <${Figure} to=${href(pathOf('o', name, 'clusters'))} value=${total} label=${text.clusters} />
                    <${Figure}
                      to=${href(pathOf('o', name, 'contracts'))}
                      value=${contracts.filter(({ state }) => state === 'active').length}
                      label=${text.contracts}
                    />
                  </div>
                </section>
              `,
            )}
            ${
              shown.length === 0 &&
              html`<div class="empty">
                <p>${text.noOrganization}</p>
                <a class="button" href=${href('/organizations/new')}>${text.create}</a>
              </div>`
            }
          </div>
        `
      })}
    <//>
  `
}
