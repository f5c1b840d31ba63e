import { useState } from 'preact/hooks'
import { href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List, pageSize } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.contracts

const kinds = { scheduled: 'idle', active: 'good', expired: 'warn', revoked: 'bad' }

/** @param {{ state: Schemas['Contract']['state'] }} props */
export const ContractState = ({ state }) => html`<span class="badge ${kinds[state]}">${text.states[state]}</span>`

/** What the terms allow of the product, in words. @param {Schemas['QuotaRule']} quota */
export const limitText = ({ enabled, limit, metric }) =>
  enabled
    ? fill(text.limitOf, { limit, unit: text.metrics[metric === 'cpu_core_month' ? 'cpu' : 'memory'] })
    : text.noLimit

/** @param {{ onClose: () => void }} props */
const AddContract = ({ onClose }) => {
  const products = useResource(
    'products',
    async (signal) => (await get('/contracts/available_products', { signal })).data,
  )
  const choices = Object.entries(products.value ?? {}).map(([id, { DisplayName }]) => [id, DisplayName || id])
  const today = new Date().toISOString().slice(0, 10)
  const form = useForm({
    initial: {
      orgOrUser: '',
      name: '',
      products: '',
      features: '',
      start: today,
      end: '',
      metric: 'cpu_core_month',
      limit: '',
      allowOffline: true,
    },
    submit: async (
      { orgOrUser, name, products: product, features, start, end, metric, limit, allowOffline },
      idempotencyKey,
    ) => {
      const instant = (/** @type {string} */ day) => Date.parse(`${day}T00:00:00Z`) / 1000
      await call('post', '/contracts', {
        body: {
          orgOrUser: orgOrUser.trim(),
          name,
          products: [product.trim()],
          features: features.split(/[\s,]+/).filter(Boolean),
          start: instant(start),
          ...(end === '' ? {} : { end: instant(end) }),
          allowOffline,
          quota: {
            enabled: limit !== '',
            metric: metric === 'cpu_core_month' ? 'cpu_core_month' : 'memory_gib_month',
            ...(limit === '' ? {} : { limit: Number(limit) }),
          },
        },
        idempotencyKey,
      })
      notify(fill(text.added, { account: orgOrUser }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.add} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="orgOrUser" label=${text.account} isRequired />
        <${Field} form=${form} name="name" label=${text.name} />
        ${
          choices.length === 0
            ? html`<${Field} form=${form} name="products" label=${text.product} isRequired />`
            : html`<${Field}
                form=${form}
                name="products"
                type="select"
                label=${text.product}
                isRequired
                options=${[['', text.choose], ...choices]}
              />`
        }
        <${Field} form=${form} name="features" label=${text.features} hint=${text.featuresHint} isRequired isCode />
        <${Field} form=${form} name="start" type="date" label=${text.start} isRequired />
        <${Field} form=${form} name="end" type="date" label=${text.end} isRequired />
        <${Field} form=${form} name="limit" type="number" label=${text.limit} hint=${text.limitHint} />
        <${Field}
          form=${form}
          name="metric"
          type="select"
          label=${text.unit}
          isRequired
          options=${[
            ['cpu_core_month', text.metrics.cpu],
            ['memory_gib_month', text.metrics.memory],
          ]}
        />
        <${Field} form=${form} name="allowOffline" type="check" label=${text.offline} />
        <${FormActions} form=${form} action=${text.add} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** Contracts of one account, or of all accounts for the vendor. @param {ScreenProps} props */
export const screen = ({ params: { owner } }) => {
  const [isAdding, setAdding] = useState(false)
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Contract']>} */
  const options = {
    name: text.title,
    source: `contracts ${owner ?? ''}`,
    isPaged: true,
    read: async ({ page }, signal) => {
      const query = { page, limit: pageSize }
      const { data, total } =
        owner === undefined
          ? await get('/contracts', { query, signal })
          : await get('/user/contracts', { query: { ...query, org: owner }, signal })
      return { items: data, total: total ?? data.length }
    },
    keyOf: ({ id }) => `${id}`,
    columns: [
      {
        key: 'name',
        title: text.name,
        cell: ({ id, name, orgOrUser }) =>
          html`<a class="strong" href=${href(pathOf('o', orgOrUser, 'contracts', `${id}`))}
              >${name || fill(text.number, { id })}</a
            >
            <span class="sub">${fill(text.number, { id })}</span>`,
      },
      ...(owner === undefined
        ? [
            {
              key: 'account',
              title: text.account,
              cell: (/** @type {Schemas['Contract']} */ { orgOrUser }) => orgOrUser,
            },
          ]
        : []),
      { key: 'state', title: text.state, cell: ({ state }) => html`<${ContractState} state=${state} />` },
      {
        key: 'product',
        title: text.product,
        kind: 'wide',
        cell: ({ product, features }) => html`${product}<span class="sub">${features.join(', ')}</span>`,
      },
      { key: 'limit', title: text.limit, kind: 'wide', cell: ({ quota }) => limitText(quota) },
      { key: 'start', title: text.start, kind: 'wide', cell: ({ start }) => html`<${Time} value=${start} as="day" />` },
      { key: 'end', title: text.end, cell: ({ end }) => html`<${Time} value=${end} as="day" />` },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${owner === undefined ? text.allTitle : text.title}
      lead=${owner === undefined ? text.allLead : text.lead}
      actions=${owner === undefined && html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" />${text.add}</button>`}
    >
      <${List} options=${options} />
    <//>
    ${isAdding && html`<${AddContract} onClose=${() => setAdding(false)} />`}
  `
}
