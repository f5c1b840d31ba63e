import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { TaskState } from '../../kit/tasks.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.taskList

/** @param {string} chosen */
const stateOf = (chosen) => {
  const state = /** @type {Schemas['Task']['state'] | ''} */ (chosen)
  return state === '' ? {} : { state }
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '' } }) => {
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Task']>} */
  const options = {
    name: text.title,
    source: `tasks ${owner}`,
    isPaged: true,
    read: async ({ page, filters }, signal) => {
      const query = { account: owner, page, limit: 25, ...stateOf(filters['state'] ?? '') }
      const { data, total = data.length } = await get('/tasks', { query, signal })
      return { items: data, total }
    },
    keyOf: ({ id }) => id,
    filters: [
      { name: 'state', label: text.state, options: [['', text.anyState], ...Object.entries(texts.tasks.states)] },
    ],
    columns: [
      {
        key: 'title',
        title: text.task,
        cell: ({ id, title, message }) =>
          html`<a class="strong" href=${href(pathOf('o', owner, 'tasks', id))}>${title}</a
            ><span class="sub">${message}</span>`,
      },
      { key: 'state', title: text.state, cell: ({ state }) => html`<${TaskState} state=${state} />` },
      { key: 'actor', title: text.actor, kind: 'wide', cell: ({ actor }) => actor },
      { key: 'at', title: text.accepted, cell: ({ created_at }) => html`<${Time} value=${created_at} as="ago" />` },
    ],
    empty: text.empty,
  }
  return html`<${Page} title=${text.title} lead=${text.lead}><${List} options=${options} /><//>`
}
