import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { Choices } from '../../kit/choices.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog } from '../../kit/dialog.js'
import { Conflict, Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { notify } from '../../kit/notices.js'
import { useAccountRights } from '../../objects/organization.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 * @typedef {Schemas['AvailablePermission']} Permission
 */

const text = texts.roles

/** The value of a permission in the form. @param {{ namespace: string, action: string }} permission */
const keyOf = ({ namespace, action }) => `${namespace}:${action}`
/** @param {string} key */
const permissionOf = (key) => {
  const [namespace = '', action = ''] = key.split(/:(.*)/s)
  return { namespace, action }
}

/** Returns the keys with those that they require. @param {string[]} keys @param {Permission[]} available */
const withRequired = (keys, available) => {
  const all = new Set(keys)
  for (const key of all)
    for (const needed of available.find((each) => keyOf(each) === key)?.associated ?? [])
      if (needed.required) all.add(keyOf(needed))
  return [...all]
}

/** Returns the keys without one and those that require it. @param {string[]} keys @param {string} removed @param {Permission[]} available @returns {string[]} */
const without = (keys, removed, available) => {
  const requiring = available
    .filter(({ associated }) => associated?.some((each) => each.required && keyOf(each) === removed))
    .map(keyOf)
  return requiring
    .filter((key) => keys.includes(key))
    .reduce(
      (left, key) => without(left, key, available),
      keys.filter((key) => key !== removed),
    )
}

/** The permissions of a role, by the part of the platform. @param {{ form: import('../../kit/form.js').Form<any>, available: Permission[], isReadOnly: boolean }} props */
const Matrix = ({ form, available, isReadOnly }) => {
  /** @type {string[]} */
  const chosen = form.values.permissions
  const toggle = (/** @type {string} */ key) =>
    form.set({
      permissions: chosen.includes(key) ? without(chosen, key, available) : withRequired([...chosen, key], available),
    })
  const namespaces = [...new Set(available.map(({ namespace }) => namespace))]
  return html`
    <div class="matrix">
      <h2 class="section-title">${text.permissions}</h2>
      <p class="hint">${text.matrixHint}</p>
      ${form.fieldErrors['permissions'] && html`<p class="field-problem" role="alert">${form.fieldErrors['permissions']}</p>`}
      ${namespaces.map(
        (namespace) => html`
          <fieldset key=${namespace} disabled=${isReadOnly}>
            <legend>${text.namespaces[/** @type {keyof typeof text.namespaces} */ (namespace)] ?? namespace}</legend>
            <div class="choices two">
              ${available
                .filter((each) => each.namespace === namespace)
                .map((each) => {
                  const key = keyOf(each)
                  return html`<label key=${key} class="choice">
                    <input type="checkbox" checked=${chosen.includes(key)} onChange=${() => toggle(key)} />
                    <span>${each.action}<span class="sub">${each.description}</span></span>
                  </label>`
                })}
            </div>
          </fieldset>
        `,
      )}
    </div>
  `
}

/** @param {Schemas['RoleResponse'] | undefined} role */
const valuesOf = (role) => ({
  name: role?.name ?? '',
  description: role?.description ?? '',
  permissions: role?.permissions.map(keyOf) ?? [],
  teamIDs: role?.team_ids ?? [],
})

/** @param {{ orgname: string, role: Schemas['RoleResponse'] | undefined, etag: string | undefined, teams: Schemas['Team'][], available: Permission[], isReadOnly: boolean }} props */
const Edit = ({ orgname, role, etag: read, teams, available, isReadOnly }) => {
  const [etag, setEtag] = useState(read)
  const query = { org: orgname }
  const form = useForm({
    initial: valuesOf(role),
    codes: {
      RoleNameTaken: 'name',
      RoleNameRefused: 'name',
      RolePermissionsEmpty: 'permissions',
      PermissionNotHeld: 'permissions',
      PermissionIncomplete: 'permissions',
    },
    submit: async ({ name, description, permissions, teamIDs }, idempotencyKey) => {
      const body = { name: name.trim(), description, permissions: permissions.map(permissionOf), teamIDs }
      if (role === undefined) {
        const { data } = await call('post', '/authz/roles', { query, body, idempotencyKey })
        notify(fill(text.created, { name: data.name }))
        return navigate(href(pathOf('o', orgname, 'roles', `${data.id}`)))
      }
      const { etag: next } = await call('put', '/authz/roles/{id}', {
        path: { id: role.id },
        query,
        body,
        ifMatch: etag,
        idempotencyKey,
      })
      setEtag(next)
      notify(text.saved)
      return reloadAll()
    },
    latest: async () => {
      const now = await get('/authz/roles/{id}', { path: { id: role?.id ?? 0 }, query })
      setEtag(now.etag)
      return valuesOf(now.data)
    },
  })
  const labels = { name: text.name, description: text.description, permissions: text.permissions, teamIDs: text.teams }
  return html`
    <form class="form wide card" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <${Conflict} form=${form} labels=${labels} />
      <fieldset class="bare" disabled=${isReadOnly}>
        <${Field} form=${form} name="name" label=${text.name} isRequired />
        <${Field} form=${form} name="description" label=${text.description} />
        <${Choices}
          form=${form}
          name="teamIDs"
          label=${text.teams}
          hint=${text.teamsHint}
          choices=${teams.map(({ id, name, description }) => [id, name, description])}
          none=${texts.common.none}
        />
      </fieldset>
      <${Matrix} form=${form} available=${available} isReadOnly=${isReadOnly} />
      ${!isReadOnly && html`<${FormActions} form=${form} action=${role === undefined ? text.create : texts.common.save} onCancel=${() => navigate(href(pathOf('o', orgname, 'roles')))} />`}
    </form>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '', id = '' }, session }) => {
  const [isDeleting, setDeleting] = useState(false)
  const isNew = id === 'new'
  const query = { org: orgname }
  const resource = useResource(`role ${orgname} ${id}`, async (signal) => {
    const [role, { data: available }, { data: teams }] = await Promise.all([
      isNew ? undefined : get('/authz/roles/{id}', { path: { id: Number(id) }, query, signal }),
      get('/authz/roles/available_permissions', { query, signal }),
      get('/orgs/{orgname}/teams', { path: { orgname }, signal }),
    ])
    return {
      role: role?.data,
      etag: role?.etag,
      available: available.permissions,
      teams: teams.filter(({ permission }) => permission !== 'owner'),
    }
  })
  // Roles are no objects of the list of rights. Those who may not change one are refused when they save it.
  const rights = useAccountRights(session, orgname)
  const role = resource.value?.role
  const canChange = rights?.has('can_create_role') === true
  const isReadOnly = rights !== undefined && !canChange
  return html`
    <${Page}
      title=${isNew ? text.create : (role?.name ?? text.role)}
      up=${[[pathOf('o', orgname, 'roles'), text.title]]}
      lead=${isReadOnly ? fill(texts.common.notAllowed, { action: text.toChange }) : ''}
      actions=${!isNew && canChange && html`<button type="button" class="danger" onClick=${() => setDeleting(true)}>${text.delete}</button>`}
    >
      ${loaded(resource, (read) => html`<${Edit} key=${id} orgname=${orgname} ...${read} isReadOnly=${isReadOnly} />`, 10)}
    <//>
    ${
      isDeleting &&
      role &&
      html`<${DestroyDialog}
        title=${fill(text.deleteTitle, { name: role.name })}
        name=${role.name}
        action=${text.delete}
        losses=${[fill(text.lossTeams, { count: role.team_ids.length }), fill(text.lossPermissions, { count: role.permissions.length })]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/authz/roles/{id}', { path: { id: role.id }, query, idempotencyKey })
          notify(fill(text.deleted, { name: role.name }))
          navigate(href(pathOf('o', orgname, 'roles')))
        }}
        onClose=${() => setDeleting(false)}
      />`
    }
  `
}
