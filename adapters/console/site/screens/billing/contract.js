import { useState } from 'preact/hooks'
import { pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify, notifyFailure } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { useRightsOn } from '../../kit/permissions.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { saveAs } from '../../kit/save.js'
import { fill, texts } from '../../texts.js'
import { ContractState, limitText } from './contracts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.contract

/** At most so many clusters and versions of terms are shown. */
const mostRows = 100

/** @param {{ start: number, end: number }} props */
const Period = ({ start, end }) => html`<${Time} value=${start} as="day" />${' – '}<${Time} value=${end} as="day" />`

/** The terms of a contract on a line of time, and as a table. @param {{ terms: readonly Schemas['ContractTermsVersion'][] }} props */
const Timeline = ({ terms }) => {
  const current = terms.filter(({ superseded }) => !superseded)
  const from = Math.min(...current.map(({ start }) => start))
  const to = Math.max(...current.map(({ end }) => end), from + 1)
  const now = Date.now() / 1000
  const at = (/** @type {number} */ instant) => (1000 * (Math.min(Math.max(instant, from), to) - from)) / (to - from)
  return html`
    <svg class="timeline" viewBox="0 0 1000 28" preserveAspectRatio="none" aria-hidden="true">
      ${current.map((each, index) => {
        const start = at(Math.max(each.effectiveFrom, each.start))
        const end = at(each.effectiveTo ?? each.end)
        return html`<rect
          key=${each.number}
          class=${index % 2 === 0 ? 'even' : 'odd'}
          x=${start}
          y="4"
          width=${Math.max(end - start, 2)}
          height="20"
          rx="3"
        />`
      })}
      ${now > from && now < to && html`<line class="now" x1=${at(now)} x2=${at(now)} y1="0" y2="28" />`}
    </svg>
    <div class="table" role="region" aria-label=${text.terms} tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">${text.version}</th>
            <th scope="col">${text.inForce}</th>
            <th scope="col">${text.period}</th>
            <th scope="col">${texts.contracts.limit}</th>
            <th scope="col" class="wide">${text.features}</th>
            <th scope="col" class="wide">${text.recorded}</th>
          </tr>
        </thead>
        <tbody>
          ${terms.map(
            (each) =>
              html`<tr key=${each.number}>
                <td>${each.number}${each.superseded && html` <span class="badge plain">${text.replaced}</span>`}</td>
                <td>
                  <${Period} start=${Math.max(each.effectiveFrom, each.start)} end=${each.effectiveTo ?? each.end} />
                </td>
                <td><${Period} start=${each.start} end=${each.end} /></td>
                <td>${limitText(each.quota)}</td>
                <td class="wide">${each.features.join(', ') || texts.common.none}</td>
                <td class="wide">
                  <${Time} value=${each.recordedUnix} as="day" /><span class="sub">${each.recordedBy}</span>
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}

/** @param {{ owner: string, id: number, onClose: () => void }} props */
const BindClusters = ({ owner, id, onClose }) => {
  const choices = useResource(
    `choices ${id}`,
    async (signal) =>
      (
        await get('/user/contracts/{id}/clusters/imported/non-associated', {
          path: { id },
          query: { org: owner },
          signal,
        })
      ).data,
  )
  const form = useForm({
    initial: { cluster: '' },
    submit: async ({ cluster }, idempotencyKey) => {
      const displayName = choices.value?.find(({ uid }) => uid === cluster)?.displayName ?? ''
      const body = [{ cluster, ...(displayName === '' ? {} : { displayName }) }]
      await call('post', '/user/contracts/{id}/clusters', { path: { id }, query: { org: owner }, body, idempotencyKey })
      notify(text.bound)
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.bind} onClose=${onClose}>
      ${loaded(choices, (clusters) =>
        clusters.length === 0
          ? html`<p>${text.noChoice}</p>`
          : html`<form class="form" novalidate onSubmit=${form.onSubmit}>
              <${FormProblem} form=${form} />
              <${Field}
                form=${form}
                name="cluster"
                type="select"
                isRequired
                label=${text.cluster}
                hint=${text.bindHint}
                options=${[['', text.choose], ...clusters.map(({ uid, displayName, name }) => [uid, displayName || name])]}
              />
              <${FormActions} form=${form} action=${text.bind} onCancel=${onClose} />
            </form>`,
      )}
    <//>
  `
}

/** @param {{ owner: string, contract: Schemas['Contract'] }} props */
const Clusters = ({ owner, contract }) => {
  const { id } = contract
  const [opened, setOpened] = useState(/** @type {'bind' | Schemas['ContractClusterStatus'] | undefined} */ (undefined))
  const rights = useRightsOn(owner, 'organization', contract.uid)
  const clusters = useResource(`clusters ${id}`, async (signal) => {
    const { data, total } = await get('/user/contracts/{id}/clusters', {
      path: { id },
      query: { org: owner, limit: mostRows },
      signal,
    })
    return { items: data, total: total ?? data.length }
  })
  const close = () => setOpened(undefined)
  const canBind = rights?.has('can_add_contract_clusters') === true
  const canIssue = rights?.has('can_issue_contract_licenses') === true && contract.allowOffline
  const download = async (/** @type {Schemas['ContractClusterStatus']} */ { id: ccID, cluster, displayName }) => {
    try {
      const { data } = await call('post', '/user/contracts/{id}/clusters/{ccID}/issue-license', {
        path: { id, ccID },
        query: { org: owner },
      })
      saveAs(`license-${displayName || cluster}.pem`, 'application/x-pem-file', data.license)
      notify(fill(text.issued, { cluster: displayName || cluster }))
      reloadAll()
    } catch (error) {
      notifyFailure(error)
    }
  }
  return html`
    <section>
      <div class="card-head">
        <h2>${text.clusters}</h2>
        ${canBind && html`<button type="button" onClick=${() => setOpened('bind')}><${Icon} name="plus" />${text.bind}</button>`}
      </div>
      ${rights && !canBind && html`<p class="faint">${fill(texts.common.notAllowed, { action: text.toBind })}</p>`}
      ${loaded(clusters, ({ items, total }) =>
        items.length === 0
          ? html`<div class="empty"><p>${text.noClusters}</p></div>`
          : html`
              <div class="table" role="region" aria-label=${text.clusters} tabindex="0">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">${text.cluster}</th>
                      <th scope="col" class="wide">${text.uid}</th>
                      <th scope="col"><span class="unseen">${texts.common.actions}</span></th>
                    </tr>
                  </thead>
                  <tbody>
                    ${items.map(
                      (each) =>
                        html`<tr key=${each.id}>
                          <td>
                            <span class="strong">${each.displayName || each.cluster}</span
                            >${each.error && html`<span class="sub">${each.error}</span>`}
                          </td>
                          <td class="wide"><code>${each.cluster}</code></td>
                          <td>
                            <div class="row-actions">
                              ${canIssue && html`<button type="button" class="small" onClick=${() => download(each)}><${Icon} name="download" />${text.license}<span class="unseen"> ${each.displayName}</span></button>`}
                              ${canBind && html`<button type="button" class="small danger" onClick=${() => setOpened(each)}>${texts.common.remove}<span class="unseen"> ${each.displayName}</span></button>`}
                            </div>
                          </td>
                        </tr>`,
                    )}
                  </tbody>
                </table>
              </div>
              ${total > items.length && html`<p class="count">${fill(text.moreClusters, { shown: items.length, total })}</p>`}
            `,
      )}
    </section>
    ${opened === 'bind' && html`<${BindClusters} owner=${owner} id=${id} onClose=${close} />`}
    ${
      typeof opened === 'object' &&
      html`<${DestroyDialog}
        title=${fill(text.unbindTitle, { cluster: opened.displayName || opened.cluster })}
        name=${opened.displayName || opened.cluster}
        action=${texts.common.remove}
        losses=${[text.lossLicense, text.lossUsage]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/user/contracts/{id}/clusters/{ccID}', {
            path: { id, ccID: opened.id },
            query: { org: owner },
            idempotencyKey,
          })
          notify(text.unbound)
          reloadAll()
        }}
        onClose=${close}
      />`
    }
  `
}

/** Moves the end of a contract. @param {{ contract: Schemas['Contract'], onClose: () => void }} props */
const Extend = ({ contract: { id, end }, onClose }) => {
  const form = useForm({
    initial: { end: new Date(end * 1000).toISOString().slice(0, 10) },
    submit: async (values, idempotencyKey) => {
      await call('post', '/contracts/{id}/extend', {
        path: { id },
        body: { end: Date.parse(`${values.end}T00:00:00Z`) / 1000 },
        idempotencyKey,
      })
      notify(text.extended)
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.extend} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="end" type="date" label=${texts.contracts.end} hint=${text.extendHint} isRequired />
        <${FormActions} form=${form} action=${text.extend} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** Licenses that were issued, for the vendor. @param {{ id: number }} props */
const Licenses = ({ id }) => {
  const licenses = useResource(
    `licenses ${id}`,
    async (signal) =>
      (await get('/contracts/{id}/licenses', { path: { id }, query: { limit: mostRows }, signal })).data,
  )
  return html`
    <section>
      <h2 class="section-title">${text.licenses}</h2>
      ${loaded(licenses, (found) =>
        found.length === 0
          ? html`<div class="empty"><p>${text.noLicenses}</p></div>`
          : html`<div class="table" role="region" aria-label=${text.licenses} tabindex="0">
              <table>
                <thead>
                  <tr>
                    <th scope="col">${text.serial}</th>
                    <th scope="col">${text.licenseState}</th>
                    <th scope="col">${text.until}</th>
                    <th scope="col" class="wide">${text.issuedAt}</th>
                  </tr>
                </thead>
                <tbody>
                  ${found.map(
                    ({ serial, cluster, kind, notAfter, issuedAt, issuedBy, revokedAt }) =>
                      html`<tr key=${serial}>
                        <td><code>${serial}</code><span class="sub">${cluster}</span></td>
                        <td>
                          <span class="badge ${revokedAt === undefined ? 'good' : 'bad'}"
                            >${revokedAt === undefined ? text.kinds[kind] : texts.contracts.states.revoked}</span
                          >
                        </td>
                        <td><${Time} value=${notAfter} as="day" /></td>
                        <td class="wide"><${Time} value=${issuedAt} /><span class="sub">${issuedBy}</span></td>
                      </tr>`,
                  )}
                </tbody>
              </table>
            </div>`,
      )}
    </section>
  `
}

/** What the vendor may do with a contract. @param {{ contract: Schemas['Contract'] }} props */
const VendorActions = ({ contract }) => {
  const [opened, setOpened] = useState(/** @type {'extend' | 'revoke' | undefined} */ (undefined))
  const close = () => setOpened(undefined)
  const { id, name, state } = contract
  if (state === 'revoked') return null
  return html`
    <button type="button" onClick=${() => setOpened('extend')}>${text.extend}</button>
    <button type="button" class="danger" onClick=${() => setOpened('revoke')}>${text.revoke}</button>
    ${opened === 'extend' && html`<${Extend} contract=${contract} onClose=${close} />`}
    ${
      opened === 'revoke' &&
      html`<${DestroyDialog}
        title=${fill(text.revokeTitle, { name: name || id })}
        name=${name || `${id}`}
        action=${text.revoke}
        losses=${[text.lossLicenses, text.lossContract]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/contracts/{id}/revoke', { path: { id }, idempotencyKey })
          notify(text.revoked)
          reloadAll()
        }}
        onClose=${close}
      />`
    }
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', id: word = '' }, session }) => {
  const id = Number(word)
  const resource = useResource(`contract ${owner} ${id}`, async (signal) => {
    const query = { org: owner }
    const [{ data: contract }, { data: terms }] = await Promise.all([
      get('/user/contracts/{id}', { path: { id }, query, signal }),
      get('/user/contracts/{id}/terms', { path: { id }, query: { ...query, limit: mostRows }, signal }),
    ])
    return { contract, terms }
  })
  const title = resource.value?.contract.name || fill(texts.contracts.number, { id: word })
  return html`
    <${Page}
      title=${title}
      up=${[[pathOf('o', owner, 'contracts'), texts.contracts.title]]}
      actions=${session.isSiteAdmin && resource.value && html`<${VendorActions} contract=${resource.value.contract} />`}
    >
      ${loaded(
        resource,
        ({ contract, terms }) => html`
          <div class="stack">
            <div class="card">
              <dl class="facts">
                <dt>${texts.contracts.state}</dt>
                <dd><${ContractState} state=${contract.state} /></dd>
                <dt>${texts.contracts.product}</dt>
                <dd>${contract.product}${contract.features.length > 0 && ` (${contract.features.join(', ')})`}</dd>
                <dt>${texts.contracts.limit}</dt>
                <dd>${limitText(contract.quota)}</dd>
                <dt>${text.period}</dt>
                <dd>
                  <${Period} start=${contract.start} end=${contract.end} />
                  <span class="faint"><${Time} value=${contract.end} as="ago" /></span>
                </dd>
                <dt>${text.offline}</dt>
                <dd>${contract.allowOffline ? texts.common.yes : texts.common.no}</dd>
              </dl>
            </div>
            <${Clusters} owner=${owner} contract=${contract} />
            <section class="stack">
              <h2>${text.terms}</h2>
              <${Timeline} terms=${terms} />
            </section>
            ${session.isSiteAdmin && html`<${Licenses} id=${id} />`}
          </div>
        `,
      )}
    <//>
  `
}
