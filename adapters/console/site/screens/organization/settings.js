import { useState } from 'preact/hooks'
import { href, navigate, root } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog } from '../../kit/dialog.js'
import { Conflict, Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify } from '../../kit/notices.js'
import { useAccountRights } from '../../objects/organization.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.settings

/** @param {{ organization: Schemas['Organization'], isReadOnly: boolean }} props */
const Profile = ({ organization, isReadOnly }) => {
  const { full_name, description, website, location } = organization
  const form = useForm({
    initial: { full_name, description, website, location },
    submit: async (body, idempotencyKey) => {
      await call('patch', '/orgs/{orgname}', { path: { orgname: organization.username }, body, idempotencyKey })
      notify(text.profileSaved)
      reloadAll()
    },
  })
  return html`
    <form class="form" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <fieldset class="bare" disabled=${isReadOnly}>
        <${Field} form=${form} name="full_name" label=${text.fullName} />
        <${Field} form=${form} name="description" label=${text.description} />
        <${Field} form=${form} name="website" type="url" label=${text.website} />
        <${Field} form=${form} name="location" label=${text.location} />
      </fieldset>
      ${!isReadOnly && html`<${FormActions} form=${form} action=${texts.common.save} />`}
    </form>
  `
}

const policyValues = (/** @type {Schemas['OrgPolicies']} */ policies) => ({
  require_two_factor: policies.require_two_factor,
  require_passkey: policies.require_passkey,
  two_factor_grace_days: String(policies.two_factor_grace_days),
  max_token_life_days: String(policies.max_token_life_days),
})

/** @param {{ orgname: string, read: { data: Schemas['OrgPolicies'], etag: string | undefined }, isReadOnly: boolean }} props */
const Policies = ({ orgname, read, isReadOnly }) => {
  const [etag, setEtag] = useState(read.etag)
  const form = useForm({
    initial: policyValues(read.data),
    submit: async ({ two_factor_grace_days, max_token_life_days, ...rest }, idempotencyKey) => {
      const body = {
        ...rest,
        two_factor_grace_days: Number(two_factor_grace_days),
        max_token_life_days: Number(max_token_life_days),
      }
      const { etag: next } = await call('patch', '/orgs/{orgname}/policies', {
        path: { orgname },
        body,
        ifMatch: etag,
        idempotencyKey,
      })
      setEtag(next)
      notify(text.policiesSaved)
      reloadAll()
    },
    latest: async () => {
      const now = await get('/orgs/{orgname}/policies', { path: { orgname } })
      setEtag(now.etag)
      return policyValues(now.data)
    },
  })
  const labels = {
    require_two_factor: text.twoFactor,
    require_passkey: text.passkey,
    two_factor_grace_days: text.grace,
    max_token_life_days: text.tokenLife,
  }
  return html`
    <form class="form" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <${Conflict} form=${form} labels=${labels} />
      <fieldset class="bare" disabled=${isReadOnly}>
        <${Field}
          form=${form}
          name="require_two_factor"
          type="check"
          label=${text.twoFactor}
          hint=${text.twoFactorHint}
        />
        <${Field} form=${form} name="require_passkey" type="check" label=${text.passkey} />
        <${Field}
          form=${form}
          name="two_factor_grace_days"
          type="number"
          label=${text.grace}
          hint=${text.graceHint}
          isRequired
        />
        <${Field}
          form=${form}
          name="max_token_life_days"
          type="number"
          label=${text.tokenLife}
          hint=${text.tokenLifeHint}
          isRequired
        />
      </fieldset>
      ${!isReadOnly && html`<${FormActions} form=${form} action=${texts.common.save} />`}
    </form>
  `
}

/** Identity providers and domains are on a page of their own. @param {{ orgname: string }} props */
const Providers = ({ orgname }) => {
  const resource = useResource(`providers ${orgname}`, async (signal) => {
    const [{ data: providers }, { data: domains }] = await Promise.all([
      get('/orgs/{orgname}/identity-providers', { path: { orgname }, signal }),
      get('/orgs/{orgname}/domains', { path: { orgname }, signal }),
    ])
    return { providers, domains }
  })
  return loaded(
    resource,
    ({ providers, domains }) => html`
      <dl class="facts">
        <dt>${text.providers}</dt>
        <dd>
          ${providers.length === 0 ? texts.common.none : providers.map(({ id, name }) => html`<div key=${id}>${name}</div>`)}
        </dd>
        <dt>${text.domains}</dt>
        <dd>
          ${
            domains.length === 0
              ? texts.common.none
              : domains.map(
                  ({ id, domain, is_verified }) =>
                    html`<div key=${id}>
                      ${domain}
                      <span class="badge ${is_verified ? 'good' : 'warn'}"
                        >${is_verified ? text.verified : text.notVerified}</span
                      >
                    </div>`,
                )
          }
        </dd>
      </dl>
      <p class="actions start">
        <a class="button" href=${new URL('../identity-providers', root).href}
          >${text.manageProviders}<${Icon} name="next"
        /></a>
      </p>
    `,
    2,
  )
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, session }) => {
  const [isDeleting, setDeleting] = useState(false)
  const rights = useAccountRights(session, orgname)
  const organization = useResource(
    `settings ${orgname}`,
    async (signal) => (await get('/orgs/{orgname}', { path: { orgname }, signal })).data,
  )
  const policies = useResource(`policies ${orgname}`, (signal) =>
    get('/orgs/{orgname}/policies', { path: { orgname }, signal }),
  )
  return html`
    <${Page}
      title=${text.title}
      lead=${rights && !rights.has('can_edit') ? fill(texts.common.notAllowed, { action: text.toChange }) : text.lead}
      actions=${rights?.has('can_delete') && html`<button type="button" class="danger" onClick=${() => setDeleting(true)}>${text.delete}</button>`}
    >
      <div class="cards wide">
        <section class="card" aria-labelledby="profile">
          <div class="card-head"><h2 id="profile">${text.profile}</h2></div>
          ${loaded(organization, (read) => html`<${Profile} organization=${read} isReadOnly=${rights?.has('can_edit') !== true} />`)}
        </section>
        <section class="card" aria-labelledby="policies">
          <div class="card-head"><h2 id="policies">${text.policies}</h2></div>
          ${loaded(policies, (read) => html`<${Policies} orgname=${orgname} read=${read} isReadOnly=${rights?.has('can_edit_policies') !== true} />`)}
        </section>
        <section class="card" aria-labelledby="providers">
          <div class="card-head"><h2 id="providers">${text.signIn}</h2></div>
          <${Providers} orgname=${orgname} />
        </section>
      </div>
    <//>
    ${
      isDeleting &&
      html`<${DestroyDialog}
        title=${fill(text.deleteTitle, { name: orgname })}
        name=${orgname}
        action=${text.delete}
        losses=${text.losses}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/orgs/{orgname}', { path: { orgname }, idempotencyKey })
          navigate(href('/'))
          location.reload()
        }}
        onClose=${() => setDeleting(false)}
      />`
    }
  `
}
