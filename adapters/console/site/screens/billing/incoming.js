import { get } from '../../kit/client.js'
import { Time, number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.incoming

/** What programs in clusters reported, and what was refused. @param {ScreenProps} props */
export const screen = ({ params: { owner = '' } }) => {
  /** @type {import('../../kit/list.js').ListOptions<Schemas['RefusedUsageEvent']>} */
  const refused = {
    name: text.refusedTitle,
    source: `refused ${owner}`,
    read: async (_, signal) => {
      const { data } = await get('/dashboard/summary/refused-events', { query: { org: owner }, signal })
      return { items: data.items, total: data.items.length }
    },
    keyOf: ({ clusterUID, id, receivedAt }) => `${clusterUID}/${id}/${receivedAt}`,
    textOf: ({ clusterUID, id, type, reason, message }) => [clusterUID, id, type, reason, message].join(' '),
    canSearch: true,
    columns: [
      {
        key: 'at',
        title: text.at,
        sortBy: ({ receivedAt }) => receivedAt,
        cell: ({ receivedAt }) => html`<${Time} value=${receivedAt} />`,
      },
      {
        key: 'reason',
        title: text.reason,
        sortBy: ({ reason }) => reason,
        cell: ({ reason, message }) => html`<span class="strong">${reason}</span><span class="sub">${message}</span>`,
      },
      {
        key: 'type',
        title: text.type,
        kind: 'wide',
        cell: ({ type, id }) => html`<code>${type}</code><span class="sub">${id}</span>`,
      },
      {
        key: 'cluster',
        title: texts.contract.cluster,
        kind: 'wide',
        cell: ({ clusterUID }) => html`<code>${clusterUID}</code>`,
      },
    ],
    empty: text.noneRefused,
  }
  /** @type {import('../../kit/list.js').ListOptions<Schemas['UsageIntake']>} */
  const intake = {
    name: text.intakeTitle,
    source: `intake ${owner}`,
    read: async (_, signal) => {
      const { data } = await get('/dashboard/summary/intake', { query: { org: owner }, signal })
      return { items: data.items, total: data.items.length }
    },
    keyOf: ({ day, clusterUID }) => `${day}/${clusterUID}`,
    columns: [
      { key: 'day', title: text.day, cell: ({ day }) => day },
      {
        key: 'cluster',
        title: texts.contract.cluster,
        kind: 'wide',
        cell: ({ clusterUID }) => html`<code>${clusterUID}</code>`,
      },
      { key: 'accepted', title: text.accepted, kind: 'number', cell: ({ accepted }) => number(accepted) },
      { key: 'repeated', title: text.repeated, kind: 'number', cell: ({ repeated }) => number(repeated) },
      { key: 'refused', title: text.refused, kind: 'number', cell: (row) => number(row.refused) },
      { key: 'late', title: text.late, kind: 'number', cell: ({ late }) => number(late) },
    ],
    empty: text.noneReported,
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead}>
      <section>
        <h2 class="section-title">${text.refusedTitle}</h2>
        <${List} options=${refused} />
      </section>
      <section>
        <h2 class="section-title">${text.intakeTitle}</h2>
        <${List} options=${intake} />
      </section>
    <//>
  `
}
