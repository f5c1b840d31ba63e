import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.charts

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '', repository = '' } }) => {
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ChartVersion']>} */
  const options = {
    name: text.title,
    source: `charts ${orgname}/${repository}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/orgs/{orgname}/chartrepositories/{repository}/charts', {
        path: { orgname, repository },
        signal,
      })
      return { items: data, total }
    },
    keyOf: ({ name }) => name,
    textOf: ({ name, description = '', keywords = [] }) => [name, description, ...keywords].join(' '),
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.chart,
        sortBy: ({ name }) => name,
        cell: ({ name, description }) =>
          html`<a class="strong" href=${href(pathOf('o', orgname, 'packages', repository, name))}>${name}</a
            ><span class="sub">${description}</span>`,
      },
      {
        key: 'version',
        title: text.newest,
        cell: ({ version, deprecated }) =>
          html`${version} ${deprecated && html`<span class="badge warn">${text.deprecated}</span>`}`,
      },
      { key: 'app', title: text.app, kind: 'wide', cell: ({ appVersion = '' }) => appVersion },
      {
        key: 'created',
        title: text.published,
        kind: 'wide',
        sortBy: ({ created = '' }) => created,
        cell: ({ created }) => html`<${Time} value=${created} as="day" none="–" />`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page} title=${repository} lead=${text.lead} up=${[[pathOf('o', orgname, 'packages'), texts.repositories.title]]}>
      <${List} options=${options} />
    <//>
  `
}
