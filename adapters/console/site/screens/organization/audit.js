import { useId, useState } from 'preact/hooks'
import { address, api, changeQuery, href } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { Page } from '../../kit/page.js'
import { loaded, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.audit

const perPage = 50

/** @param {URLSearchParams} query */
const filtersOf = (query) => ({
  action: query.get('action') ?? '',
  actor: query.get('actor') ?? '',
  since: query.get('since') ?? '',
})

/** @param {ReturnType<typeof filtersOf>} filters */
const sentFilters = ({ action, actor, since }) => ({
  ...(action === '' ? {} : { action }),
  ...(actor === '' ? {} : { actor }),
  ...(since === '' ? {} : { since: new Date(`${since}T00:00:00`).toISOString() }),
})

/** @param {{ query: URLSearchParams }} props */
const Filters = ({ query }) => {
  const id = useId()
  const [values, setValues] = useState(filtersOf(query))
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    changeQuery({ ...values, before: undefined })
  }
  const field = (
    /** @type {keyof typeof values} */ name,
    /** @type {string} */ type,
    /** @type {string} */ placeholder,
  ) => html`
    <div class="filter">
      <label for="${id}-${name}">${text.filters[name]}</label>
      <input
        id="${id}-${name}"
        type=${type}
        placeholder=${placeholder}
        autocomplete="off"
        spellcheck=${false}
        value=${values[name]}
        onInput=${(/** @type {any} */ event) => setValues({ ...values, [name]: event.target.value })}
      />
    </div>
  `
  return html`
    <form class="toolbar" onSubmit=${submit}>
      ${field('action', 'text', 'role.created')} ${field('actor', 'text', '')} ${field('since', 'date', '')}
      <button type="submit"><${Icon} name="search" />${text.apply}</button>
    </form>
  `
}

/** @param {{ event: Schemas['AuditEvent'] }} props */
const Row = ({ event }) => html`
  <tr>
    <td><${Time} value=${event.time} /></td>
    <td>
      <code>${event.action}</code>${event.result === 'denied' && html` <span class="badge bad">${text.denied}</span>`}
    </td>
    <td>
      ${event.actor || html`<span class="faint">${text.service}</span>`}${event.impersonator && html`<span class="sub">${fill(text.by, { name: event.impersonator })}</span>`}
    </td>
    <td>${event.object_name}<span class="sub">${event.object_type}</span></td>
    <td class="wide">
      ${
        Object.keys(event.changes).length > 0 &&
        html`<details>
          <summary>${text.changes}</summary>
          <pre class="code">${JSON.stringify(event.changes, null, 2)}</pre>
        </details>`
      }
    </td>
    <td class="wide faint">${event.source_ip}</td>
  </tr>
`

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, query }) => {
  const before = query.get('before') ?? ''
  const filters = filtersOf(query)
  const resource = useResource(`audit ${orgname} ${query}`, async (signal) => {
    const asked = { ...sentFilters(filters), limit: perPage, ...(before === '' ? {} : { before: Number(before) }) }
    return get('/orgs/{orgname}/audit', { path: { orgname }, query: asked, signal })
  })
  const exported = `${api}/orgs/${encodeURIComponent(orgname)}/audit/export?${new URLSearchParams(sentFilters(filters))}`
  return html`
    <${Page}
      title=${text.title}
      lead=${text.lead}
      actions=${html`<a class="button" href=${exported} download="audit-${orgname}.jsonl"><${Icon} name="download" />${text.export}</a>`}
    >
      <div class="list">
        <${Filters} query=${query} />
        ${loaded(
          resource,
          ({ data: events, next }) => {
            const older = new URLSearchParams(next ?? '').get('before')
            const to = (/** @type {string | undefined} */ id) =>
              href(address.peek().path, { ...Object.fromEntries(query), before: id })
            if (events.length === 0 && older === null) return html`<div class="empty"><p>${text.empty}</p></div>`
            return html`
              <div class="table" role="region" aria-label=${text.title} tabindex="0">
                <table>
                  <caption class="unseen">
                    ${text.title}
                  </caption>
                  <thead>
                    <tr>
                      <th scope="col">${text.time}</th>
                      <th scope="col">${text.filters.action}</th>
                      <th scope="col">${text.filters.actor}</th>
                      <th scope="col">${text.object}</th>
                      <th scope="col" class="wide">${text.changes}</th>
                      <th scope="col" class="wide">${text.address}</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${events.map((event) => html`<${Row} key=${event.id} event=${event} />`)}
                  </tbody>
                </table>
              </div>
              <nav class="pager" aria-label=${texts.list.pages}>
                <p class="count">${fill(text.shown, { count: events.length })}</p>
                ${before !== '' && html`<a class="button" href=${to(undefined)}><${Icon} name="back" />${text.newest}</a>`}
                ${older !== null && html`<a class="button" rel="next" href=${to(older)}>${text.older}<${Icon} name="next" /></a>`}
              </nav>
            `
          },
          10,
        )}
      </div>
    <//>
  `
}
