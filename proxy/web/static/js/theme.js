// Light or dark: the viewer's choice, otherwise the system's. A plain script in the head, so that nothing flashes.
// Where the browser stores nothing, the choice holds until the page is loaded again.

(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem("isthmus-theme") || "";
    } catch {
      return "";
    }
  };
  const keep = (theme) => {
    try {
      localStorage.setItem("isthmus-theme", theme);
    } catch {
      // it may be forbidden for this site, or for all
    }
  };
  let chosen = kept();

  const apply = () => {
    const theme = chosen || (system.matches ? "dark" : "light");
    if (document.documentElement.dataset.theme === theme) return;
    document.documentElement.dataset.theme = theme;
    dispatchEvent(new Event("themechange"));
  };

  apply();
  system.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = chosen;
    select.addEventListener("change", () => {
      chosen = select.value;
      keep(chosen);
      apply();
    });
  });
})();
