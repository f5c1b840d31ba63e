import { get } from '../../kit/client.js'
import { Time, number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List, pageSize } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { loaded, useResource } from '../../kit/resource.js'
import { texts } from '../../texts.js'

/**
 * @import { Schemas } from 'api-shapes'
 */

const text = texts.subscriptions

/** @type {Record<string, string>} */
const kinds = { Running: 'good', Bounded: 'busy', Pending: 'busy', Failed: 'bad', DeletionFailed: 'bad' }

export const screen = () => {
  const warnings = useResource(
    'warnings',
    async (signal) => (await get('/dashboard/marketplaces/settings/warnings', { signal })).data,
  )
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Subscription']>} */
  const options = {
    name: text.title,
    source: 'subscriptions',
    isPaged: true,
    read: async ({ page }, signal) => {
      const { data, total } = await get('/dashboard/marketplaces/subscriptions', {
        query: { page, limit: pageSize },
        signal,
      })
      return { items: data, total: total ?? data.length }
    },
    keyOf: ({ marketplace, subscriptionId }) => `${marketplace}/${subscriptionId}`,
    columns: [
      {
        key: 'id',
        title: text.subscription,
        cell: ({ subscriptionId, marketplace }) =>
          html`<code>${subscriptionId}</code><span class="sub">${text.marketplaces[marketplace]}</span>`,
      },
      {
        key: 'state',
        title: text.state,
        cell: ({ state }) => html`<span class="badge ${kinds[state] ?? 'idle'}">${text.states[state]}</span>`,
      },
      {
        key: 'sent',
        title: text.reported,
        kind: 'number',
        cell: ({ noOfBillingEventSent }) => number(noOfBillingEventSent),
      },
      {
        key: 'last',
        title: text.lastReported,
        kind: 'wide',
        cell: ({ lastBillingEventSentAt }) => html`<${Time} value=${lastBillingEventSentAt} as="ago" />`,
      },
      {
        key: 'created',
        title: text.created,
        kind: 'wide',
        cell: ({ createdAt }) => html`<${Time} value=${createdAt} as="day" />`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead}>
      ${
        warnings.error?.status === 404
          ? html`<div class="panel"><p>${text.absent}</p></div>`
          : html`
              ${loaded(
                warnings,
                ({ warnings: found }) =>
                  Object.entries(found).map(
                    ([marketplace, lines]) =>
                      html`<div key=${marketplace} class="panel warn">
                        <${Icon} name="warning" />
                        <ul>
                          ${lines.map((line) => html`<li key=${line}>${line}</li>`)}
                        </ul>
                      </div>`,
                  ),
                1,
              )}
              <${List} options=${options} />
            `
      }
    <//>
  `
}
