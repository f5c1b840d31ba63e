import { useEffect, useId, useState } from 'preact/hooks'
import { fill, texts } from '../texts.js'
import { address, changeQuery, href } from './address.js'
import { number } from './format.js'
import { html, useValue } from './html.js'
import { Icon } from './icons.js'
import { Placeholder, Problem, useResource } from './resource.js'

/**
 * @template T
 * @typedef {object} Column
 * @property {string} key the name of the column in the address, when the list is sorted by it
 * @property {string} title
 * @property {(item: T) => unknown} cell
 * @property {(item: T) => string | number} [sortBy] of a list that is read whole
 * @property {boolean} [isSorted] of a list that is read in pages: whether the API sorts it by this column
 * @property {'wide' | 'number' | 'end'} [kind] `wide`: left out on narrow screens; `end`: at the end of the row
 */

/**
 * @typedef {object} Filter
 * @property {string} name
 * @property {string} label
 * @property {readonly (readonly [value: string, text: string])[]} options the first one is the value when nothing is chosen
 */

/**
 * The state of a list, as the address has it.
 *
 * @typedef {{ page: number, q: string, sort: string, isDescending: boolean, filters: Record<string, string> }} ListState
 */

/**
 * @template T
 * @typedef {object} ListOptions
 * @property {string} name what the list has, for people who cannot see it
 * @property {string} source changes when another list is to be read
 * @property {(state: ListState, signal: AbortSignal) => Promise<{ items: T[], total: number }>} read
 * @property {boolean} [isPaged] whether `read` returns one page, as the API has searched and sorted it; otherwise it
 *   returns everything, and this list does the rest
 * @property {(item: T) => string} keyOf
 * @property {(item: T) => string} [textOf] what a search looks through, of a list that is read whole
 * @property {(item: T, filters: Record<string, string>) => boolean} [keeps] whether the filters keep an item, of a list that is read whole
 * @property {readonly Column<T>[]} columns
 * @property {readonly Filter[]} [filters]
 * @property {boolean} [canSearch]
 * @property {unknown} [actions] beside the search
 * @property {string} empty
 * @property {unknown} [emptyAction]
 */

/** @param {number} total */
const countOf = (total) => (total === 1 ? texts.list.one : fill(texts.list.count, { total: number(total) }))

/** How many entries a page of a list has. */
export const pageSize = 25

/** How long a search waits for the next letter, in milliseconds. */
const searchPauseMs = 250

/** @param {URLSearchParams} query @param {readonly Filter[]} filters @returns {ListState} */
const stateOf = (query, filters) => {
  const sort = query.get('sort') ?? ''
  return {
    page: Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1),
    q: query.get('q') ?? '',
    sort: sort.replace(/^-/, ''),
    isDescending: sort.startsWith('-'),
    filters: Object.fromEntries(filters.map(({ name, options }) => [name, query.get(name) ?? options[0]?.[0] ?? ''])),
  }
}

/**
 * @template T
 * @param {{ items: T[], total: number }} read
 * @param {ListState} state
 * @param {ListOptions<T>} options
 */
const arranged = ({ items, total }, state, { isPaged, textOf, keeps, columns }) => {
  if (isPaged === true) return { shown: items, total }
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean)
  const kept = items.filter((item) => {
    if (keeps !== undefined && !keeps(item, state.filters)) return false
    const text = textOf?.(item).toLowerCase() ?? ''
    return words.every((word) => text.includes(word))
  })
  const sortBy = columns.find(({ key }) => key === state.sort)?.sortBy
  if (sortBy !== undefined) {
    const way = state.isDescending ? -1 : 1
    kept.sort((a, b) => {
      const [left, right] = [sortBy(a), sortBy(b)]
      return (
        way *
        (typeof left === 'number' && typeof right === 'number'
          ? left - right
          : String(left).localeCompare(String(right)))
      )
    })
  }
  const from = (state.page - 1) * pageSize
  return { shown: kept.slice(from, from + pageSize), total: kept.length }
}

/** @param {{ value: string }} props */
const Search = ({ value }) => {
  const id = useId()
  const [typed, setTyped] = useState(value)
  useEffect(() => {
    if (typed === value) return undefined
    const timer = setTimeout(() => changeQuery({ q: typed, page: undefined }), searchPauseMs)
    return () => clearTimeout(timer)
  }, [typed])
  useEffect(() => setTyped(value), [value])
  return html`
    <div class="search">
      <label for=${id} class="unseen">${texts.list.search}</label>
      <${Icon} name="search" />
      <input
        id=${id}
        type="search"
        autocomplete="off"
        spellcheck=${false}
        placeholder=${texts.list.search}
        value=${typed}
        onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
      />
    </div>
  `
}

/** @param {{ filter: Filter, value: string }} props */
const FilterField = ({ filter: { name, label, options }, value }) => {
  const id = useId()
  return html`
    <div class="filter">
      <label for=${id}>${label}</label>
      <select
        id=${id}
        onChange=${(/** @type {any} */ event) => changeQuery({ [name]: event.target.value === options[0]?.[0] ? undefined : event.target.value, page: undefined })}
      >
        ${options.map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}
      </select>
    </div>
  `
}

/** @param {{ column: Column<any>, state: ListState, isSortable: boolean }} props */
const Head = ({ column: { key, title, kind }, state, isSortable }) => {
  const isSorted = state.sort === key
  const direction = isSorted ? (state.isDescending ? 'descending' : 'ascending') : undefined
  const next = isSorted && !state.isDescending ? `-${key}` : key
  return html`
    <th scope="col" class=${kind} aria-sort=${direction}>
      ${
        isSortable
          ? html`<button type="button" class="sort" onClick=${() => changeQuery({ sort: next, page: undefined })}>
              ${title}<span class="sort-mark" aria-hidden="true"
                >${isSorted ? (state.isDescending ? '↓' : '↑') : ''}</span
              >
            </button>`
          : title
      }
    </th>
  `
}

/** @param {{ page: number, total: number, size?: number }} props */
const Pager = ({ page, total, size = pageSize }) => {
  const last = Math.max(1, Math.ceil(total / size))
  if (last === 1 && page === 1) return html`<p class="count">${countOf(total)}</p>`
  const { path, query } = address.peek()
  const to = (/** @type {number} */ each) =>
    href(path, { ...Object.fromEntries(query), page: each === 1 ? undefined : each })
  const from = (page - 1) * size
  return html`
    <nav class="pager" aria-label=${texts.list.pages}>
      <p class="count">
        ${fill(texts.list.range, {
          from: number(Math.min(from + 1, total)),
          to: number(Math.min(from + size, total)),
          total: number(total),
        })}
      </p>
      ${page > 1 ? html`<a class="button" rel="prev" href=${to(page - 1)}><${Icon} name="back" />${texts.list.previous}</a>` : ''}
      ${page < last ? html`<a class="button" rel="next" href=${to(page + 1)}>${texts.list.next}<${Icon} name="next" /></a>` : ''}
    </nav>
  `
}

/**
 * A list whose search, filters, order and page are in the address.
 *
 * @template T
 * @param {{ options: ListOptions<T> }} props
 */
export const List = ({ options }) => {
  const {
    name,
    source,
    read,
    isPaged = false,
    keyOf,
    columns,
    filters = [],
    canSearch = false,
    actions,
    empty,
    emptyAction,
  } = options
  const state = stateOf(useValue(address).query, filters)
  const key = isPaged ? `${source} ${JSON.stringify(state)}` : source
  const resource = useResource(key, (signal) => read(state, signal))
  const isNarrowed =
    state.q !== '' || filters.some(({ name: each, options: [first] }) => state.filters[each] !== first?.[0])
  const { value, error, isLoading, reload } = resource
  const { shown, total } = value === undefined ? { shown: [], total: 0 } : arranged(value, state, options)
  const draw = () => {
    if (error !== undefined && value === undefined) return html`<${Problem} error=${error} retry=${reload} />`
    if (value === undefined) return html`<${Placeholder} lines=${8} />`
    if (shown.length === 0)
      return html`<div class="empty">
        <p>${isNarrowed ? texts.list.noMatch : empty}</p>
        ${isNarrowed ? '' : emptyAction}
      </div>`
    return html`
      <div class="table" role="region" aria-label=${name} tabindex="0" aria-busy=${isLoading}>
        <table>
          <caption class="unseen">
            ${name}
          </caption>
          <thead>
            <tr>
              ${columns.map((column) => html`<${Head} key=${column.key} column=${column} state=${state} isSortable=${isPaged ? column.isSorted === true : column.sortBy !== undefined} />`)}
            </tr>
          </thead>
          <tbody>
            ${shown.map(
              (item) =>
                html`<tr key=${keyOf(item)}>
                  ${columns.map((column, at) => html`<td key=${at} class=${column.kind}>${column.cell(item)}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <${Pager} page=${state.page} total=${total} />
    `
  }
  return html`
    <div class="list">
      ${
        (canSearch || filters.length > 0 || actions) &&
        html`<div class="toolbar">
          ${canSearch && html`<${Search} value=${state.q} />`}
          ${filters.map((filter) => html`<${FilterField} key=${filter.name} filter=${filter} value=${state.filters[filter.name] ?? ''} />`)}
          <div class="toolbar-actions">${actions}</div>
        </div>`
      }
      ${draw()}
      <p class="unseen" role="status" aria-live="polite">${value === undefined ? '' : countOf(total)}</p>
    </div>
  `
}
