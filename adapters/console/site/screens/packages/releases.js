import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { tabsOf } from '../../objects/cluster.js'
import { factsOf, ReleaseStatus } from '../../objects/release.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.releases

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', cluster = '' } }) => {
  const install = html`<a class="button primary" href=${href(pathOf('o', owner, 'packages'))}
    ><${Icon} name="plus" />${text.install}</a
  >`
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Release']>} */
  const options = {
    name: text.title,
    source: `releases ${owner}/${cluster}`,
    read: async (_, signal) => {
      const { data } = await get('/clusters/{owner}/{cluster}/helm/v3/releases', {
        path: { owner, cluster },
        query: { all: true },
        signal,
      })
      return { items: data, total: data.length }
    },
    keyOf: ({ namespace, name }) => `${namespace}/${name}`,
    textOf: (release) => [release.name, release.namespace, factsOf(release).chart].join(' '),
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.name,
        sortBy: ({ name }) => name,
        cell: ({ name, namespace }) =>
          html`<a class="strong" href=${href(pathOf('o', owner, 'clusters', cluster, 'releases', namespace, name))}
            >${name}</a
          >`,
      },
      {
        key: 'namespace',
        title: texts.workloads.namespace,
        sortBy: ({ namespace }) => namespace,
        cell: ({ namespace }) => namespace,
      },
      {
        key: 'status',
        title: text.status,
        cell: (release) => html`<${ReleaseStatus} status=${factsOf(release).status} />`,
      },
      {
        key: 'chart',
        title: text.chart,
        sortBy: (release) => factsOf(release).chart,
        cell: (release) => `${factsOf(release).chart} ${factsOf(release).version}`,
      },
      { key: 'revision', title: text.revision, kind: 'number', cell: ({ version }) => version },
      {
        key: 'at',
        title: text.changed,
        kind: 'wide',
        sortBy: (release) => factsOf(release).at,
        cell: (release) => html`<${Time} value=${factsOf(release).at} as="ago" />`,
      },
    ],
    empty: text.empty,
    emptyAction: install,
  }
  return html`
    <${Page}
      title=${cluster}
      up=${[[pathOf('o', owner, 'clusters'), texts.clusters.title]]}
      tabs=${tabsOf(owner, cluster)}
      actions=${install}
    >
      <${List} options=${options} />
    <//>
  `
}
