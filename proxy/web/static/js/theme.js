// Light or dark: the viewer's choice, otherwise the system's. A plain script in the head, so that nothing flashes.

(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => localStorage.getItem("isthmus-theme") || "";

  const apply = () => {
    const theme = chosen() || (system.matches ? "dark" : "light");
    if (document.documentElement.dataset.theme === theme) return;
    document.documentElement.dataset.theme = theme;
    dispatchEvent(new Event("themechange"));
  };

  apply();
  system.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = chosen();
    select.addEventListener("change", () => {
      localStorage.setItem("isthmus-theme", select.value);
      apply();
    });
  });
})();
