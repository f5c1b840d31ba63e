// "Try it out" sends requests to the origin of the page, regardless of the configured address.
// A link names an operation only by its id; Swagger UI also requires its tag.
const linked = () => /^#operation\/(.+)$/.exec(location.hash)?.[1]

const openLinked = (spec) => {
  const id = linked()
  const operations = Object.values(spec.paths).flatMap((item) => Object.values(item))
  const operation = operations.find((each) => each.operationId !== undefined && encodeURIComponent(each.operationId) === id)
  if (operation === undefined) return
  history.replaceState(null, '', '#/' + encodeURIComponent(operation.tags[0]) + '/' + id)
}

addEventListener('hashchange', () => {
  if (linked() !== undefined) location.reload()
})

fetch('/api/v1/openapi.json', { credentials: 'omit' })
  .then((reply) => reply.json())
  .then((spec) => {
    openLinked(spec)
    SwaggerUIBundle({
      spec: { ...spec, servers: [{ url: location.origin + '/api/v1' }] },
      dom_id: '#swagger-ui',
      deepLinking: true,
      filter: true,
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      persistAuthorization: false,
      validatorUrl: null,
      presets: [SwaggerUIBundle.presets.apis],
    })
  })
  .catch((error) => {
    document.getElementById('swagger-ui').textContent = 'The API description could not be loaded: ' + error.message
  })
