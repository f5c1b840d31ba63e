import { useState } from 'preact/hooks'
import { address, changeQuery, href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { Field, FormProblem, useForm } from '../../kit/form.js'
import { html, useValue } from '../../kit/html.js'
import { Page } from '../../kit/page.js'
import { loaded, useResource } from '../../kit/resource.js'
import { TaskProgress } from '../../kit/tasks.js'
import { base64 } from '../../objects/release.js'
import { fill, texts } from '../../texts.js'
import { changedValues, scalarsOf, Values } from './values.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 * @import { Scalar } from './values.js'
 */

const text = texts.install

/** @param {string} line of a unified diff */
const lineKind = (line) => (line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : '')

/** The differences of a dry run. @param {{ task: Schemas['Task'] }} props */
const Differences = ({ task }) => {
  const diff = /** @type {any} */ (task.result)?.diff
  /** @type {{ object: string, change: string, diff: string }[]} */
  const objects = Array.isArray(diff?.objects) ? diff.objects : []
  if (task.state !== 'succeeded') return null
  return html`
    <section class="card" aria-label=${text.differences}>
      <div class="card-head"><h2>${text.differences}</h2></div>
      ${objects.length === 0 && html`<p class="faint">${text.noDifferences}</p>`}
      ${objects.map(
        ({ object, change, diff: lines }) =>
          html`<details key=${object} open=${objects.length < 6}>
            <summary>
              <span class="badge ${change === 'removed' ? 'bad' : change === 'added' ? 'good' : 'warn'}"
                >${change}</span
              >
              <code>${object}</code>
            </summary>
            <div class="code diff" tabindex="0" role="region" aria-label=${object}>
              ${String(lines)
                .split('\n')
                .map((line, at) => html`<div key=${at} class=${lineKind(line)}>${line}</div>`)}
            </div>
          </details>`,
      )}
    </section>
  `
}

/**
 * The chart, and the values that it takes. For an upgrade the release is in the query.
 *
 * @param {{ orgname: string, repository: string, chart: string, versions: Schemas['ChartVersion'][], clusters: Schemas['ClusterInfo'][] }} props
 */
const Install = ({ orgname, repository, chart, versions, clusters }) => {
  const { query } = useValue(address)
  const upgraded = query.get('release') ?? ''
  const form = useForm({
    initial: {
      cluster: query.get('cluster') ?? clusters[0]?.name ?? '',
      version: query.get('version') ?? versions[0]?.version ?? '',
      releaseName: upgraded || chart,
      namespace: query.get('namespace') ?? '',
      createNamespace: true,
      isDryRun: false,
      changed: /** @type {Record<string, unknown>} */ ({}),
      yaml: '',
    },
    codes: { ReleaseNameTaken: 'releaseName', ValuesRefused: 'yaml' },
    submit: async (
      { cluster, version, releaseName, namespace, createNamespace, isDryRun, changed, yaml },
      idempotencyKey,
    ) => {
      const source = { name: chart, version, sourceKind: 'ChartRepository', sourceName: repository }
      const values = {
        ...(yaml.trim() === '' ? {} : { valueBytes: [base64(yaml)] }),
        ...(Object.keys(changed).length === 0
          ? {}
          : { kv_pairs: /** @type {any} */ (Object.entries(changed).map(([K, V]) => ({ K, V }))) }),
      }
      const common = {
        ...source,
        ...values,
        namespace: namespace.trim(),
        dryRun: isDryRun,
        wait: !isDryRun,
        timeout: '5m0s',
      }
      const path = { owner: orgname, cluster }
      const { data } =
        upgraded === ''
          ? await call('post', '/clusters/{owner}/{cluster}/helm/v3/releases', {
              path,
              body: { ...common, releaseName: releaseName.trim(), createNamespace },
              idempotencyKey,
            })
          : await call('put', '/clusters/{owner}/{cluster}/helm/v3/releases/{name}', {
              path: { ...path, name: upgraded },
              body: { ...common, ...(Object.keys(values).length === 0 ? {} : { resetThenReuseValues: true }) },
              idempotencyKey,
            })
      changeQuery({ cluster, namespace, version, task: data.id })
      scrollTo(0, 0)
    },
  })
  const { cluster, version, namespace, releaseName } = form.values
  const view = useResource(`package ${orgname}/${cluster}/${repository}/${chart}/${version}`, async (signal) => {
    if (cluster === '') return { scalars: /** @type {Scalar[]} */ ([]), defaults: '' }
    const asked = { name: chart, version, sourceKind: /** @type {const} */ ('ChartRepository'), sourceName: repository }
    const path = { owner: orgname, cluster }
    const [{ data: values }, { data: shown }] = await Promise.all([
      get('/clusters/{owner}/{cluster}/helm/packageview/values', { path, query: asked, signal }),
      get('/clusters/{owner}/{cluster}/helm/packageview', { path, query: asked, signal }),
    ])
    const schema = /** @type {any} */ (shown).openAPIV3Schema
    return { scalars: scalarsOf(schema, values), defaults: JSON.stringify(values, null, 2) }
  })
  const [ended, setEnded] = useState(/** @type {Schemas['Task'] | undefined} */ (undefined))
  const task = query.get('task')
  const send = (/** @type {boolean} */ isDryRun) => () => {
    setEnded(undefined)
    form.values.isDryRun = isDryRun
  }
  return html`
    <div class="stack">
      ${task && html`<${TaskProgress} key=${task} id=${task} onEnd=${setEnded} />`}
      ${ended && /** @type {any} */ (ended.result)?.diff && html`<${Differences} task=${ended} />`}
      ${ended?.state === 'succeeded' && /** @type {any} */ (ended.result)?.diff === undefined && html`<p><a class="button" href=${href(pathOf('o', orgname, 'clusters', cluster, 'releases', namespace || 'default', releaseName))}>${text.toRelease}</a></p>`}
      <form class="form wide card" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <div class="pair">
          <${Field}
            form=${form}
            name="cluster"
            type="select"
            label=${text.cluster}
            options=${clusters.map(({ name, displayName }) => [name, displayName || name])}
            isRequired
          />
          <${Field}
            form=${form}
            name="version"
            type="select"
            label=${text.version}
            options=${versions.map((each) => [each.version, each.version])}
            isRequired
          />
          ${upgraded === '' && html`<${Field} form=${form} name="releaseName" label=${text.release} isRequired />`}
          <${Field} form=${form} name="namespace" label=${text.namespace} hint=${text.namespaceHint} />
        </div>
        ${upgraded === '' && html`<${Field} form=${form} name="createNamespace" type="check" label=${text.createNamespace} />`}
        ${loaded(
          view,
          ({ scalars, defaults }) => html`
            <${Values} form=${form} scalars=${scalars} changed=${changedValues(form)} />
            <${Field}
              form=${form}
              name="yaml"
              type="textarea"
              isCode
              rows=${8}
              label=${text.yaml}
              hint=${upgraded === '' ? text.yamlHint : text.upgradeHint}
            />
            <details>
              <summary>${text.defaults}</summary>
              <pre class="code" tabindex="0" role="region" aria-label=${text.defaults}>${defaults}</pre>
            </details>
          `,
          6,
        )}
        <div class="actions">
          <button type="submit" onClick=${send(true)}>${text.preview}</button>
          <button type="submit" class="primary" aria-disabled=${form.isBusy} onClick=${send(false)}>
            ${upgraded === '' ? text.install : text.upgrade}
          </button>
        </div>
      </form>
    </div>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '', repository = '', chart = '' }, query }) => {
  const upgraded = query.get('release') ?? ''
  const resource = useResource(`chart ${orgname}/${repository}/${chart}`, async (signal) => {
    const [{ data: versions }, { data: clusters }] = await Promise.all([
      get('/orgs/{orgname}/chartrepositories/{repository}/charts/{chart}/versions', {
        path: { orgname, repository, chart },
        signal,
      }),
      get('/clustersv2/{owner}', { path: { owner: orgname }, signal }),
    ])
    return { versions, clusters }
  })
  return html`
    <${Page}
      title=${upgraded === '' ? fill(text.title, { chart }) : fill(text.upgradeTitle, { release: upgraded })}
      lead=${resource.value?.versions[0]?.description}
      up=${[
        [pathOf('o', orgname, 'packages'), texts.repositories.title],
        [pathOf('o', orgname, 'packages', repository), repository],
      ]}
    >
      ${loaded(resource, (read) => html`<${Install} orgname=${orgname} repository=${repository} chart=${chart} ...${read} />`, 8)}
    <//>
  `
}
